-- The chronicle: events and signals as they are served, worked out from everything
-- else. Rows are replaced by later revisions; gone ones are those that follow no
-- longer.

-- Up to where the chronicle has caught up with each item: a proposal (the revision
-- of its state), a topic, an imported event or signal (the version of its record);
-- and by which edition of the rules.
-- shard by: cityHash64(item)
CREATE TABLE IF NOT EXISTS chronicle_items
(
    item     FixedString(16),
    dao_id   String,
    edition  UInt64,
    revision UInt64
)
ENGINE = ReplacingMergeTree(revision)
ORDER BY item;

-- Each event stands here twice, once by each time that lists go by.
-- shard by: cityHash64(event_id)
CREATE TABLE IF NOT EXISTS chronicle_events
(
    basis         LowCardinality(String),
    at            DateTime64(3, 'UTC'),
    event_id      String,
    item          FixedString(16),
    event_type    LowCardinality(String),
    event_time    DateTime64(3, 'UTC'),
    discovered_at DateTime64(3, 'UTC'),
    confidence    LowCardinality(String),
    dao_id        LowCardinality(String),
    item_type     LowCardinality(String),
    -- The proposal that an imported event is about; zeros for none.
    proposal_ref  FixedString(16),
    proposal_key  String,
    title         String,
    url           String,
    importance    UInt8,
    fingerprint   UInt64,
    revision      UInt64,
    gone          UInt8,
    PROJECTION by_item
    (
        SELECT
            item,
            basis,
            at,
            event_id,
            discovered_at,
            dao_id,
            proposal_ref,
            fingerprint,
            revision,
            gone
        ORDER BY item
    )
)
ENGINE = ReplacingMergeTree(revision, gone)
ORDER BY (basis, at, event_id)
SETTINGS deduplicate_merge_projection_mode = 'rebuild';

-- shard by: cityHash64(signal_id)
CREATE TABLE IF NOT EXISTS chronicle_signals
(
    detected_at   DateTime64(3, 'UTC'),
    signal_id     String,
    item          FixedString(16),
    signal_type   LowCardinality(String),
    dao_id        LowCardinality(String),
    proposal_ref  FixedString(16),
    proposal_key  String,
    title         String,
    summary       String,
    source_url    String,
    actionability LowCardinality(String),
    severity      LowCardinality(String),
    score         UInt8,
    surfaces      Array(LowCardinality(String)),
    deadline_at   Nullable(DateTime64(3, 'UTC')),
    -- A JSON object.
    evidence      String,
    fingerprint   UInt64,
    revision      UInt64,
    gone          UInt8,
    PROJECTION by_item
    (
        SELECT
            item,
            detected_at,
            signal_id,
            dao_id,
            proposal_ref,
            fingerprint,
            revision,
            gone
        ORDER BY item
    )
)
ENGINE = ReplacingMergeTree(revision, gone)
ORDER BY (detected_at, signal_id)
SETTINGS deduplicate_merge_projection_mode = 'rebuild';
