-- The edge's metrics, counted by each worker when a request ends, added up in shared memory
-- every interval, and printed in the text format of Prometheus. Every label has a closed set of values: routes come from the
-- table of routes, and nothing that a caller sends becomes a label.
local counts = ngx.shared.pnyx_metrics
local metrics = {}

-- interval is the time, in seconds, between two additions to shared memory.
local interval = 0.2

-- pending are the counts of this worker that are not in shared memory yet.
local pending = {}

local function add(key, number)
    pending[key] = (pending[key] or 0) + number
end

local function flush()
    local added = pending
    pending = {}
    for key, number in pairs(added) do
        counts:incr(key, number, 0)
    end
end

-- start begins to add up what a worker counts, until and when it ends.
function metrics.start()
    assert(ngx.timer.every(interval, flush))
end

-- Upper bounds of the buckets of durations, in seconds. nginx measures milliseconds.
local bounds = {0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}

-- Reasons for which a request to the origin failed.
local reasons = {"unreachable", "timeout", "status"}

-- observe counts a duration, in seconds, in the histogram name.
local function observe(name, seconds)
    local bucket = #bounds + 1
    for i = 1, #bounds do
        if seconds <= bounds[i] then
            bucket = i
            break
        end
    end
    add(name .. bucket, 1)
    add(name .. "sum", seconds)
end

-- origin counts what a request waited for the origin, and the attempts that failed. nginx
-- lists an attempt each in variables of one order; one that got no header has "-" for its
-- time.
local function origin(statuses, headers, times)
    local seconds = 0
    for time in times:gmatch("[%d.]+") do
        seconds = seconds + time
    end
    observe("origin ", seconds)
    local header = headers:gmatch("[%d.-]+")
    for status in statuses:gmatch("[%d-]+") do
        local answered = header() ~= "-"
        status = tonumber(status) or 0
        if status >= 500 then
            local reason = answered and "status" or status == 504 and "timeout" or "unreachable"
            add("error " .. reason, 1)
        end
    end
end

-- name returns the name of the count of the current request.
local function name(status, cache)
    return "request " .. package.loaded.pnyx.route() .. " " .. status .. " " .. cache
end

-- hit returns the name of the count of the current request and of those that get its copy.
function metrics.hit()
    return name(ngx.HTTP_OK, "hit")
end

-- copied counts a request that gets a copy: it ends where the copy is sent. nginx measures milliseconds.
function metrics.copied(counted)
    add(counted, 1)
    observe("request ", math.floor((ngx.now() - ngx.req.start_time()) * 1000 + 0.5) / 1000)
end

-- count counts the current request, which has ended.
function metrics.count()
    local var = ngx.var
    local cache, statuses = var.upstream_cache_status, var.upstream_status
    if cache == "STALE" and not statuses then
        cache = "UPDATING" -- no node has failed: this request has begun a renewal
    end
    add(name(var.status, cache and cache:lower() or "none"), 1)
    observe("request ", tonumber(var.request_time))
    if statuses and var.origin ~= "nobody" then
        origin(statuses, var.upstream_header_time or "", var.upstream_response_time or "")
    end
end

local function describe(name, kind, help)
    ngx.say("# HELP ", name, " ", help, "\n# TYPE ", name, " ", kind)
end

local function histogram(name, key, help)
    describe(name, "histogram", help)
    local total = 0
    for i, bound in ipairs(bounds) do
        total = total + (counts:get(key .. i) or 0)
        ngx.say(name, '_bucket{le="', bound, '"} ', total)
    end
    total = total + (counts:get(key .. #bounds + 1) or 0)
    ngx.say(name, '_bucket{le="+Inf"} ', total)
    ngx.say(name, "_sum ", counts:get(key .. "sum") or 0)
    ngx.say(name, "_count ", total)
end

-- connections prints what nginx says of its connections.
local function connections()
    local said = ngx.location.capture("/status").body
    local accepted, handled = said:match("(%d+) (%d+) %d+")
    describe("pnyx_edge_connections_accepted_total", "counter", "Connections accepted, on all listeners.")
    ngx.say("pnyx_edge_connections_accepted_total ", accepted)
    describe("pnyx_edge_connections_dropped_total", "counter", "Connections accepted and closed at once, because a limit was reached.")
    ngx.say("pnyx_edge_connections_dropped_total ", accepted - handled)
    describe("pnyx_edge_connections", "gauge", "Open connections, by state: reading a request, writing a response, or waiting for a request.")
    for _, state in ipairs({"Reading", "Writing", "Waiting"}) do
        ngx.say('pnyx_edge_connections{state="', state:lower(), '"} ', said:match(state .. ": (%d+)"))
    end
end

-- print sends all metrics.
function metrics.print()
    flush()
    ngx.header["Content-Type"] = "text/plain; version=0.0.4"
    describe("pnyx_edge_requests_total", "counter",
        "Requests answered, by route, status, and what the cache did: hit, stale, updating, miss, expired, bypass, none.")
    local keys = counts:get_keys(0)
    table.sort(keys)
    for _, key in ipairs(keys) do
        local route, status, cache = key:match("^request (%S+) (%d+) (%l+)$")
        if route then
            ngx.say('pnyx_edge_requests_total{route="', route, '",status="', status, '",cache="', cache, '"} ', counts:get(key))
        end
    end
    histogram("pnyx_edge_request_duration_seconds", "request ", "Time from a request's first byte to the last one sent, at the edge.")
    histogram("pnyx_edge_origin_duration_seconds", "origin ", "Time that a request waited for API nodes, of requests that reached one.")
    describe("pnyx_edge_origin_errors_total", "counter",
        "Attempts to ask an API node that failed, by reason: unreachable, timeout, status (the node answered 5xx).")
    for _, reason in ipairs(reasons) do
        ngx.say('pnyx_edge_origin_errors_total{reason="', reason, '"} ', counts:get("error " .. reason) or 0)
    end
    connections()
end

package.loaded["pnyx.metrics"] = metrics
