SELECT
    upstream,
    provider,
    source_id,
    count() AS rejected,
    argMax(concat(item_id, ': ', reason), at) AS latest
FROM follow_rejects FINAL
WHERE reason != '' -- those that were not read since
GROUP BY
    upstream,
    provider,
    source_id
