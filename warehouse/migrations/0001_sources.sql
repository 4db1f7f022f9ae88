-- What makes up a DAO, and what upstream says about its sources. Every table of
-- records has the same five last columns:
--   fingerprint    hash of the content, by which an unchanged record is known
--   version        the later one wins; microseconds since 1970 when it was written
--   discovered_at  when any version of the record was first seen here
--   observed_at    when this version was seen upstream: the start of its import
--   import_id      the import that brought it

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

-- When a source's records of one kind were last read to their end.
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
