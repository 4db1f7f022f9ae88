SELECT
    provider,
    source_id,
    external_id,
    created_at,
    updated_at,
    start_at,
    end_at,
    stated_votes,
    stated_total,
    scores_state,
    flagged,
    withdrawn,
    origin
FROM proposals FINAL
WHERE
    provider = ?
    AND has(?, source_id)
    AND ifNull(toUnixTimestamp64Milli(end_at), 0) >= ? * 1000
ORDER BY
    created_at,
    external_id
