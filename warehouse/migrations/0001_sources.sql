-- DAOs with their sources, and the upstream description of each source. Every table of
-- records ends in the same five columns:
--   fingerprint    hash of the content; an equal one means an unchanged record
--   version        the latest wins; microseconds since 1970 at which it was written
--   discovered_at  when the warehouse first had any version of the record
--   observed_at    start of the import that read this version upstream
--   import_id      the import that wrote it

-- shard by: cityHash64(dao_id)
CREATE TABLE IF NOT EXISTS daos
(
    dao_id           String,
    name             String,
    source_providers Array(String),
    source_ids       Array(String),
    fingerprint      UInt64,
    version          UInt64,
    discovered_at    DateTime64(3, 'UTC'),
    observed_at      DateTime64(3, 'UTC'),
    import_id        UUID
)
ENGINE = ReplacingMergeTree(version)
ORDER BY dao_id;

-- shard by: cityHash64(source_id)
CREATE TABLE IF NOT EXISTS sources
(
    provider      LowCardinality(String),
    source_id     String,
    name          String,
    slug          String,
    network       String,
    symbol        String,
    fingerprint   UInt64,
    version       UInt64,
    discovered_at DateTime64(3, 'UTC'),
    observed_at   DateTime64(3, 'UTC'),
    import_id     UUID
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (provider, source_id);

-- shard by: cityHash64(host)
CREATE TABLE IF NOT EXISTS categories
(
    host          String,
    category_id   String,
    name          String,
    slug          String,
    fingerprint   UInt64,
    version       UInt64,
    discovered_at DateTime64(3, 'UTC'),
    observed_at   DateTime64(3, 'UTC'),
    import_id     UUID
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (host, category_id);

-- When an import last read all records of one kind of a source.
-- shard by: cityHash64(source_id)
CREATE TABLE IF NOT EXISTS syncs
(
    provider  LowCardinality(String),
    source_id String,
    kind      LowCardinality(String),
    synced_at DateTime64(3, 'UTC'),
    import_id UUID
)
ENGINE = ReplacingMergeTree(synced_at)
ORDER BY (provider, source_id, kind);
