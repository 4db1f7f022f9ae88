SELECT
    upstream,
    provider,
    source_id,
    item_id,
    note
FROM followed_items FINAL
WHERE upstream = ?
ORDER BY
    provider,
    source_id,
    item_id
