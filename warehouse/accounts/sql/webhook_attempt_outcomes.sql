-- What the log says of each endpoint.
SELECT
    endpoint_id,
    maxIf(at, error = '') AS succeeded_at,
    if(maxIf(at, error != '') > succeeded_at, argMaxIf(error, at, error != ''), '') AS last_error
FROM webhook_attempts
GROUP BY endpoint_id
