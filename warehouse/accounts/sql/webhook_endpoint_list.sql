SELECT
    endpoint.endpoint_id AS endpoint_id,
    endpoint.token_id AS token_id,
    endpoint.url AS url,
    endpoint.types AS types,
    endpoint.dao_ids AS dao_ids,
    endpoint.secret AS secret,
    endpoint.previous_secret AS previous_secret,
    endpoint.previous_until AS previous_until,
    endpoint.created_at AS created_at,
    endpoint.enabled_at AS enabled_at,
    state.disabled_at AS disabled_at,
    state.reason AS reason,
    state.failing_since AS failing_since
FROM (SELECT * FROM webhook_endpoints FINAL) AS endpoint
GLOBAL LEFT JOIN (SELECT * FROM webhook_states FINAL) AS state ON endpoint.endpoint_id = state.endpoint_id
WHERE NOT endpoint.removed
ORDER BY
    endpoint.created_at,
    endpoint.endpoint_id
