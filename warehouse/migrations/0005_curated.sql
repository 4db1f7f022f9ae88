-- Records of people or programs upstream beyond votes and forums.

-- shard by: cityHash64(event_id)
CREATE TABLE IF NOT EXISTS events
(
    event_id      String,
    event_type    LowCardinality(String),
    event_time    DateTime64(3, 'UTC'),
    dao_id        String,
    title         String,
    url           String,
    item_type     LowCardinality(String),
    provider      LowCardinality(String),
    external_id   String,
    confidence    LowCardinality(String),
    importance    UInt8,
    fingerprint   UInt64,
    version       UInt64,
    discovered_at DateTime64(3, 'UTC'),
    observed_at   DateTime64(3, 'UTC'),
    import_id     UUID
)
ENGINE = ReplacingMergeTree(version)
ORDER BY event_id;

-- shard by: cityHash64(signal_id)
CREATE TABLE IF NOT EXISTS signals
(
    signal_id     String,
    signal_type   LowCardinality(String),
    dao_id        String,
    provider      LowCardinality(String),
    external_id   String,
    title         String,
    summary       String,
    source_url    String,
    actionability LowCardinality(String),
    severity      LowCardinality(String),
    score         UInt8,
    surfaces      Array(LowCardinality(String)),
    detected_at   DateTime64(3, 'UTC'),
    deadline_at   Nullable(DateTime64(3, 'UTC')),
    evidence      String,
    fingerprint   UInt64,
    version       UInt64,
    discovered_at DateTime64(3, 'UTC'),
    observed_at   DateTime64(3, 'UTC'),
    import_id     UUID
)
ENGINE = ReplacingMergeTree(version)
ORDER BY signal_id;

-- shard by: cityHash64(external_id)
CREATE TABLE IF NOT EXISTS evidence
(
    provider         LowCardinality(String),
    external_id      String,
    artifact_version String,
    generated_at     DateTime64(3, 'UTC'),
    dossier          String CODEC(ZSTD(3)),
    source_refs      String,
    warnings         String,
    fingerprint      UInt64,
    version          UInt64,
    discovered_at    DateTime64(3, 'UTC'),
    observed_at      DateTime64(3, 'UTC'),
    import_id        UUID
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (provider, external_id);
