-- What nginx lacks: one request to the origin for an expired response, however many
-- callers wait (nginx's own lock covers only responses that are not cached at all), and
-- the header Age.
local lrucache = require("resty.lrucache")
local known = ngx.shared.pnyx_answers
local edge = {}

-- A worker remembers what follows from a URL of at most longest bytes, because regular
-- expressions cost more than the rest of a hit; and what dates mean.
local longest = 512
local names, routes, dates = lrucache.new(10000), lrucache.new(10000), lrucache.new(1000)

-- remembered returns the value of a variable that follows from the URL of the current request.
local function remembered(cache, uri, name)
    local value = cache:get(uri)
    if not value then
        value = ngx.var[name]
        if #uri <= longest and value ~= "" then
            cache:set(uri, value)
        end
    end
    return value
end

-- route returns the route of the current request, for the metrics.
function edge.route()
    return remembered(routes, ngx.var.request_uri or "", "route")
end

-- usable returns for how long, in seconds, no caller has to wait for a response: while it
-- is fresh, or is revalidated in the background, which nginx does once.
local function usable()
    local var = ngx.var
    local kept = tonumber(var.upstream_http_x_accel_expires)
    if kept then
        return math.max(1, kept)
    end
    -- nginx counts whole seconds: a hit stays one until the current second ends.
    local now = ngx.now()
    if var.upstream_cache_status == "HIT" then
        return math.max(0.001, math.floor(now) + 1 - now)
    end
    local control = var.upstream_http_cache_control or ""
    local renewing = control:match("stale%-while%-revalidate=(%d+)") or 0
    local last = (var.upstream_http_x_accel_expires or ""):match("^@(%d+)$")
    if last then
        return math.max(0.001, last + renewing + 1 - now)
    end
    -- At least a second, so that no caller waits for a response that may not be stored.
    local fresh = control:match("s%-maxage=(%d+)") or control:match("max%-age=(%d+)") or 0
    return math.max(1, fresh + renewing)
end

-- prepare removes preconditions that nodes ignore or have checked: nginx would answer them by
-- itself.
function edge.prepare()
    local var = ngx.var
    if var.http_if_match then
        ngx.req.clear_header("If-Match")
    end
    if var.http_if_unmodified_since then
        ngx.req.clear_header("If-Unmodified-Since")
    end
    if var.http_if_range then
        ngx.req.clear_header("If-Range")
    end
end

-- prompt says whether a request is complete: nginx reads a body before it asks the origin,
-- and a caller that does not send it must not hold up the others.
local function prompt()
    local method, var = ngx.req.get_method(), ngx.var
    return (method == "GET" or method == "HEAD") and (var.http_content_length or "0") == "0"
        and not var.http_transfer_encoding
end

-- pays says whether the body of a request may have a payment. nginx reads it into memory,
-- because its bound is the buffer's.
function edge.pays()
    ngx.req.read_body()
    local body = ngx.req.get_body_data()
    return body and body:find("x402\\?/payment") ~= nil -- JSON may escape a slash
end

-- probe is what a worker writes into edge.folder, the cache's, once a second: in second tried last, and
-- stores says whether it could.
local probe, tried, stores = string.rep(" ", 1048576), 0, true

-- can_store says whether the cache can be written. nginx breaks off a response that it cannot store.
local function can_store()
    if tried == ngx.time() then
        return stores
    end
    tried = ngx.time()
    local name = edge.folder .. "/probe-" .. ngx.worker.pid()
    local file, problem = io.open(name, "w")
    stores = file ~= nil
    if file then
        stores, problem = file:write(probe)
        stores = file:close() and stores
        os.remove(name)
    end
    if not stores then
        ngx.log(ngx.ERR, "responses are not stored: ", problem)
    end
    return stores
end

-- enter passes one request for a response that is not known to be usable, and the others
-- once it is, or after timeout seconds, and what two connections may take. While the origin hangs, they get
-- the stale response at once.
function edge.enter(name, timeout)
    if not can_store() then
        ngx.var.unstored = "1"
        return
    end
    local is = known:get(name)
    if not is and not prompt() then
        return
    end
    timeout = timeout + 3
    local deadline = ngx.now() + timeout
    while is ~= true do
        if prompt() and known:add("lock " .. name, ngx.var.request_id, timeout) then
            ngx.var.holds = name
            return
        end
        if is == "hung" then
            ngx.var.origin = "nobody"
            return
        end
        if ngx.now() > deadline then
            return
        end
        ngx.sleep(0.005)
        is = known:get(name)
    end
end

-- A worker keeps whole responses of at most largest bytes that were hits twice in the current second. nginx
-- counts whole seconds, so they stay hits until it ends, and a plain request needs no other decision.
local largest, most = 16384, 1000

-- current is the second in which the URLs of hits were seen and copies were made; seen is the number of hits.
local current, hits, seen, copies = 0, {}, 0, {}

-- copied sends the copy of a response, if there is one. A redirect inside nginx asks for something else. To set headers one by
-- one would take a third of what nginx does for a copy.
function edge.copied()
    local second = ngx.time()
    if second ~= current then
        current, hits, seen, copies = second, {}, 0, {}
        return
    end
    local var, header = ngx.var, ngx.header
    local copy = copies[var.plain]
    if not copy or ngx.req.is_internal() then
        return
    end
    var.copied = copy.headers
    header["Content-Type"], header["Content-Length"] = copy.type, copy.size
    package.loaded["pnyx.metrics"].copied(copy.counted)
    ngx.print(copy.body)
    ngx.exit(ngx.HTTP_OK)
end

-- apart are the headers of a response that are not among the lines of a copy.
local apart = {["connection"] = true, ["content-length"] = true, ["content-type"] = true, ["transfer-encoding"] = true}

-- copy keeps a response, of which copy_body adds the parts, if it is a hit for the second time in this second.
local function copy(var)
    local plain = var.plain
    if plain == "" or ngx.status ~= ngx.HTTP_OK or #plain > longest or current ~= ngx.time() then
        return
    end
    if not hits[plain] then
        if seen < most then
            hits[plain], seen = true, seen + 1
        end
        return
    end
    local headers = {var.cache_status}
    for name, values in pairs(ngx.resp.get_headers(0, true)) do
        if not apart[name:lower()] then
            for _, value in ipairs(type(values) == "table" and values or {values}) do
                table.insert(headers, name .. ": " .. value)
            end
        end
    end
    ngx.ctx.copy = {
        second = current, counted = package.loaded["pnyx.metrics"].hit(), type = ngx.header["Content-Type"],
        headers = table.concat(headers, "\r\n"), parts = {}, size = 0,
    }
    var.copying = "1"
end

-- copy_body adds a part of the body of a response that is copied.
function edge.copy_body()
    if ngx.var.copying == "" then
        return
    end
    local kept, part, last = ngx.ctx.copy, ngx.arg[1], ngx.arg[2]
    kept.size = kept.size + #part
    if kept.size <= largest then
        table.insert(kept.parts, part)
        if last and kept.second == current then
            kept.body = table.concat(kept.parts)
            copies[ngx.var.plain] = kept
        end
    end
end

-- recognisable bounds the URLs that are compared with patterns, in bytes: that takes a time which grows with the
-- square of the length. The longest cursor fits.
local recognisable = 4096

-- free names a free response, and passes requests for it as enter does. A URL that is not
-- recognised is not cached.
function edge.free(timeout)
    local var = ngx.var
    if var.conditional ~= "" then
        edge.prepare()
    end
    local canonical = #var.request_uri <= recognisable and remembered(names, var.request_uri, "canonical") or ""
    if canonical == "" then
        var.unrecognised = "1"
        return
    end
    local name = "free " .. var.encoding .. " " .. canonical
    var.cache_name = name
    edge.enter(name, timeout)
end

-- pause is for how long, in seconds, the origin is not asked again for a stale response for which it hung; that it hung is
-- known for longer, also while it is asked again.
local pause, memory = 5, 60

-- outcome returns what the others are to know of the response that this request has asked for, and for how long.
local function outcome()
    local var = ngx.var
    if var.upstream_cache_status == "STALE" and (var.upstream_status or ""):find("504$") then
        return "hung", memory
    end
    return true, usable()
end

-- release releases the requests that wait for a response which request id fetches, and
-- lets others pass for some seconds.
local function release(name, id, is, seconds)
    local lock = "lock " .. name
    if known:get(lock) ~= id then
        return
    end
    known:set(name, is, seconds)
    if is == "hung" then
        known:set(lock, "", pause)
    else
        known:delete(lock)
    end
end

-- leave releases the requests that wait for a response, which is in the cache by now.
function edge.leave()
    local name = ngx.var.holds
    if name ~= "" then
        release(name, ngx.var.request_id, outcome())
    end
end

-- grace is how long, in seconds, a caller may take to read before the others go on. The
-- response is in the cache then; of a longer one, nginx's own lock holds the others.
local grace = 0.1

-- begun releases the requests that wait for a response, soon after its headers are there:
-- the caller may read slowly.
function edge.begun()
    local name = ngx.var.holds
    if name ~= "" then
        local id, is, seconds = ngx.var.request_id, outcome()
        ngx.timer.at(grace, function() release(name, id, is, math.max(0.001, seconds - grace)) end)
    end
end

-- bound returns the maximum age, in seconds, of a response while the origin fails.
local function bound()
    local control = ngx.var.upstream_http_cache_control or ""
    local fresh = control:match("s%-maxage=(%d+)") or control:match("max%-age=(%d+)") or 0
    return fresh + (control:match("stale%-if%-error=(%d+)") or 0)
end

-- answered sets the Age of a response from the cache, and records one that was
-- revalidated in the background. It replaces a response that is older than bound by 503.
function edge.answered()
    if ngx.is_subrequest then
        known:set(ngx.var.cache_name, true, usable())
        return
    end
    local status = ngx.var.upstream_cache_status
    if status ~= "HIT" and status ~= "STALE" and status ~= "UPDATING" then
        return
    end
    local date = ngx.var.upstream_http_date or ""
    local made = dates:get(date)
    if not made then
        made = ngx.parse_http_time(date)
        dates:set(date, made)
    end
    local age = made and math.max(0, ngx.time() - made) or 0
    -- Without a failed request to the origin, this one only begins a renewal.
    if status == "STALE" and ngx.var.upstream_status and age > bound() then
        return ngx.exit(ngx.HTTP_SERVICE_UNAVAILABLE)
    end
    ngx.header["Age"] = age
    if status == "HIT" then
        copy(ngx.var)
    end
end

package.loaded.pnyx = edge
