-- What nginx lacks: one request to the origin for an expired response, however many
-- callers wait (nginx's own lock covers only responses that are not cached at all), and
-- the header Age.
local known = ngx.shared.pnyx_answers
local edge = {}

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

-- enter passes one request for a response that is not known to be usable, and the others
-- once it is, or after timeout seconds.
function edge.enter(name, timeout)
    local deadline = ngx.now() + timeout
    while not known:get(name) do
        if known:add("lock " .. name, true, timeout) then
            ngx.var.holds = name
            return
        end
        if ngx.now() > deadline then
            return
        end
        ngx.sleep(0.005)
    end
end

-- leave releases the requests that wait for a response, which is in the cache by now.
function edge.leave()
    local name = ngx.var.holds
    if name ~= "" then
        known:set(name, true, usable())
        known:delete("lock " .. name)
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
function edge.answered(name)
    if ngx.is_subrequest then
        known:set(name, true, usable())
        return
    end
    local status = ngx.var.upstream_cache_status
    if status ~= "HIT" and status ~= "STALE" and status ~= "UPDATING" then
        return
    end
    local made = ngx.parse_http_time(ngx.var.upstream_http_date or "")
    local age = made and math.max(0, ngx.time() - made) or 0
    if status == "STALE" and age > bound() then
        return ngx.exit(ngx.HTTP_SERVICE_UNAVAILABLE)
    end
    ngx.header["Age"] = age
end

package.loaded.pnyx = edge
