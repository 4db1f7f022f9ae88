-- The log of changes: what was published, in the order in which /v2/changes serves it. Redis holds a
-- copy. at_ms and number are the place of a row, which no other row of its epoch has. An epoch begins
-- with the warehouse, and with its restore from a backup.

-- shard by: cityHash64(epoch)
CREATE TABLE IF NOT EXISTS changes
(
    epoch      UInt64,
    at_ms      UInt64,
    number     UInt64,
    kind       LowCardinality(String),
    key        String,
    dao_id     LowCardinality(String),
    changed_at DateTime64(3, 'UTC'),
    revision   UInt64
)
ENGINE = MergeTree
PARTITION BY toYYYYMMDD(fromUnixTimestamp64Milli(toInt64(at_ms), 'UTC'))
ORDER BY (epoch, at_ms, number)
TTL toDateTime(intDiv(at_ms, 1000)) + INTERVAL 14 DAY
SETTINGS ttl_only_drop_parts = 1;

-- Up to where the log tells what was published: of publication and of the feed; and its epoch. The
-- row that was written last counts.
-- shard by: cityHash64(name)
CREATE TABLE IF NOT EXISTS change_positions
(
    name              LowCardinality(String),
    epoch             UInt64,
    restored          String,
    format            String,
    committed_through Int64,
    visible_through   DateTime64(3, 'UTC'),
    revision          UInt64,
    lagging_daos      Array(String),
    written           UInt64 DEFAULT toUnixTimestamp64Micro(now64(6))
)
ENGINE = ReplacingMergeTree(written)
ORDER BY name;
