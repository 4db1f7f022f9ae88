-- Backups that were completed, and restores of this warehouse. kind is "backup" or
-- "restore"; name is that of the backup.
-- shard by: cityHash64(name)
CREATE TABLE IF NOT EXISTS backups
(
    kind        LowCardinality(String),
    name        String,
    row_count   UInt64,
    bytes       UInt64,
    finished_at DateTime64(6, 'UTC') DEFAULT now64(6, 'UTC')
)
ENGINE = MergeTree
ORDER BY (kind, finished_at);
