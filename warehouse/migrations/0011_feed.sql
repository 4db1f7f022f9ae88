-- The feed: events and signals as the API serves them, derived from all other records.
-- A later revision replaces a row; gone marks rows that no longer follow from any record.
--
-- Version 0.1.0 keeps its feed in chronicle_events, chronicle_signals and chronicle_items.
-- They are copied, and stay for a rollback to it. Progress is copied last: an interrupted
-- copy starts again.

-- The revision up to which the feed includes each item, and the rules version it was
-- derived with. An item is a proposal (revision of its state), a topic, a recorded event
-- or a recorded signal (version of its record).
-- shard by: cityHash64(item)
CREATE TABLE IF NOT EXISTS feed_progress
(
    item          FixedString(16),
    dao_id        String,
    rules_version UInt64,
    revision      UInt64
)
ENGINE = ReplacingMergeTree(revision)
ORDER BY item;

-- Each event has two rows: one by event time, one by discovery time. Lists use either.
-- shard by: cityHash64(event_id)
CREATE TABLE IF NOT EXISTS feed_events
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
    -- The proposal that a recorded event refers to; zeros for none.
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
CREATE TABLE IF NOT EXISTS feed_signals
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

-- shard by: cityHash64(event_id)
-- where exists: chronicle_events
INSERT INTO feed_events SELECT * FROM chronicle_events WHERE (SELECT count() FROM feed_progress) = 0;

-- shard by: cityHash64(signal_id)
-- where exists: chronicle_signals
INSERT INTO feed_signals SELECT * FROM chronicle_signals WHERE (SELECT count() FROM feed_progress) = 0;

-- shard by: cityHash64(item)
-- where exists: chronicle_items
INSERT INTO feed_progress (item, dao_id, rules_version, revision) SELECT * FROM chronicle_items WHERE (SELECT count() FROM feed_progress) = 0;
