-- Rejected items of an upstream that were read as records since. A record of no known source
-- stands for an item of any, and an item of no source for that of any record.
SELECT
    provider,
    source_id,
    item_id
FROM follow_rejects FINAL
WHERE upstream = ? AND reason != '' AND at < fromUnixTimestamp64Milli(?, 'UTC')
    AND (
        (source_id, item_id) GLOBAL IN (SELECT source_id, item_id FROM read_items)
        OR ('', item_id) GLOBAL IN (SELECT source_id, item_id FROM read_items)
        OR source_id = '' AND item_id GLOBAL IN (SELECT item_id FROM read_items)
    )
