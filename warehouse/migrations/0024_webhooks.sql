-- Receivers of events and signals, as their operator set them. Each change is a version of
-- the whole row.
-- shard by: cityHash64(endpoint_id)
CREATE TABLE IF NOT EXISTS webhook_endpoints
(
    endpoint_id     String,
    token_id        String,
    url             String,
    -- Types and patterns: event.voting_ended, signal.*, *.
    types           Array(String),
    -- Empty for all DAOs.
    dao_ids         Array(String),
    -- whsec_…: kept as it is, since every message is signed with it.
    secret          String,
    previous_secret String,
    previous_until  DateTime64(3, 'UTC'),
    created_at      DateTime64(3, 'UTC'),
    -- Off if it was turned off after this time.
    enabled_at      DateTime64(3, 'UTC'),
    removed         Bool,
    changed_at      DateTime64(6, 'UTC') DEFAULT now64(6, 'UTC')
)
ENGINE = ReplacingMergeTree(changed_at)
ORDER BY endpoint_id;

-- What the leader found out about receivers, apart from what operators write.
-- shard by: cityHash64(endpoint_id)
CREATE TABLE IF NOT EXISTS webhook_states
(
    endpoint_id   String,
    -- 1970 for never.
    disabled_at   DateTime64(3, 'UTC'),
    reason        String,
    -- The first failure since the last success; 1970 for none.
    failing_since DateTime64(3, 'UTC'),
    version       UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY endpoint_id;

-- One row a message and receiver: the queue, and what became of it. Version 0 is that of a
-- message as it is queued, so that queueing it again changes nothing.
-- shard by: cityHash64(endpoint_id)
CREATE TABLE IF NOT EXISTS webhook_deliveries
(
    endpoint_id  String,
    -- The id of the event or signal.
    message_id   String,
    message_type LowCardinality(String),
    -- Messages with one subject are sent one after the other: a proposal, or a DAO.
    subject      String,
    happened_at  DateTime64(3, 'UTC'),
    -- waiting, delivered, expired, dropped, withdrawn, or before: in the feed when the
    -- receiver was added.
    state        LowCardinality(String),
    attempts     UInt32,
    queued_at    DateTime64(3, 'UTC'),
    due_at       DateTime64(3, 'UTC'),
    version      UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (endpoint_id, message_id)
TTL toDateTime(happened_at) + INTERVAL 60 DAY;

-- Each attempt to deliver a message.
-- shard by: cityHash64(endpoint_id)
CREATE TABLE IF NOT EXISTS webhook_attempts
(
    endpoint_id  String,
    at           DateTime64(3, 'UTC'),
    message_id   String,
    message_type LowCardinality(String),
    attempt      UInt32,
    -- The HTTP status; 0 for none.
    status       UInt16,
    duration_ms  UInt32,
    -- Empty for a success.
    error        String
)
ENGINE = MergeTree
ORDER BY (endpoint_id, at, message_id)
TTL toDateTime(at) + INTERVAL 30 DAY;
