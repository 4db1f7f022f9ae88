-- shard by: cityHash64(host, external_id)
CREATE TABLE IF NOT EXISTS topics
(
    host          String,
    external_id   String,
    title         String,
    slug          String,
    category_id   String,
    tags          Array(String),
    author        String,
    body_html     String CODEC(ZSTD(3)),
    posts         UInt64,
    likes         UInt64,
    views         UInt64,
    created_at    Nullable(DateTime64(3, 'UTC')),
    updated_at    Nullable(DateTime64(3, 'UTC')),
    closed        Bool,
    archived      Bool,
    visible       Bool,
    fingerprint   UInt64,
    version       UInt64,
    discovered_at DateTime64(3, 'UTC'),
    observed_at   DateTime64(3, 'UTC'),
    import_id     UUID
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (host, external_id);
