-- What nginx cannot do by itself: one request at the origin for an answer that is
-- out of date, however many ask (its own lock is for answers that are not there at
-- all), and the header Age.
local known = ngx.shared.pnyx_answers
local edge = {}

-- For how long, in seconds, nobody has to wait for an answer: while it is fresh, or
-- is renewed in the background, which nginx does once.
local function usable()
    local var = ngx.var
    local kept = tonumber(var.upstream_http_x_accel_expires)
    if kept then
        return math.max(1, kept)
    end
    -- nginx counts whole seconds: what it serves now it does until this one is over.
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
    -- Nobody waits in vain for an answer that may not be kept.
    local fresh = control:match("s%-maxage=(%d+)") or control:match("max%-age=(%d+)") or 0
    return math.max(1, fresh + renewing)
end

-- enter lets one request for an answer pass that is not known to be usable, and the
-- others once it is, or after `patience` seconds.
function edge.enter(name, patience)
    local deadline = ngx.now() + patience
    while not known:get(name) do
        if known:add("lock " .. name, true, patience) then
            ngx.var.holds = name
            return
        end
        if ngx.now() > deadline then
            return
        end
        ngx.sleep(0.005)
    end
end

-- leave lets those go on who wait for an answer. By now it is in the cache.
function edge.leave()
    local name = ngx.var.holds
    if name ~= "" then
        known:set(name, true, usable())
        known:delete("lock " .. name)
    end
end

-- bound is how old, in seconds, an answer may become while the origin fails.
local function bound()
    local control = ngx.var.upstream_http_cache_control or ""
    local fresh = control:match("s%-maxage=(%d+)") or control:match("max%-age=(%d+)") or 0
    return fresh + (control:match("stale%-if%-error=(%d+)") or 0)
end

-- answered tells how old an answer from the cache is, and takes note of one that
-- was renewed in the background. One that is too old even while the origin fails is
-- not sent.
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
