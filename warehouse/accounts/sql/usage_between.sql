SELECT
    token_id,
    day,
    route,
    requests,
    ok,
    not_modified,
    refused,
    failed,
    charged,
    bytes,
    payments
FROM usage_by_day
WHERE day BETWEEN ? AND ? AND (empty(?) OR has(?, token_id))
ORDER BY
    token_id,
    day,
    route
