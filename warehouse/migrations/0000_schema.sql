-- The migrations that ran on this node. A process that finds its own fingerprint here
-- needs no right to change the schema.
CREATE TABLE IF NOT EXISTS schema_migrations
(
    fingerprint String,
    applied_at  DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC')
)
ENGINE = ReplacingMergeTree
ORDER BY fingerprint;
