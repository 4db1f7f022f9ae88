SELECT
    upstream,
    provider,
    source_id,
    item_id,
    note,
    version
FROM followed_items FINAL
WHERE upstream = ?
ORDER BY
    provider,
    source_id,
    item_id
