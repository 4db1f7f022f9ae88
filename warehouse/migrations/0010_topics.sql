-- shard by: cityHash64(host, external_id)
ALTER TABLE topics ADD COLUMN IF NOT EXISTS participants Nullable(UInt64) AFTER views;

-- shard by: cityHash64(host, external_id)
ALTER TABLE topics ADD COLUMN IF NOT EXISTS last_post_at Nullable(DateTime64(3, 'UTC')) AFTER updated_at;

-- What topics show of published proposals, and the names by which proposals and topics
-- link each other.
-- shard by: cityHash64(proposal_ref)
CREATE TABLE IF NOT EXISTS proposal_links
(
    proposal_ref   FixedString(16),
    proposal_key   String,
    title          String,
    -- The names that links to the proposal have, and the name of the topic that discusses
    -- it; '' for none.
    names          Array(String),
    topic          String,
    -- The same with the previous names: topics with one of these have changed.
    touched_names  Array(String),
    touched_topics Array(String),
    revision       UInt64
)
ENGINE = ReplacingMergeTree(revision)
ORDER BY proposal_ref;

-- What the last publication of each topic computed: the rows of the list.
-- shard by: cityHash64(host, external_id)
CREATE TABLE IF NOT EXISTS topic_states
(
    host          String,
    external_id   String,
    topic_key     String,
    dao_id        String,
    provider      LowCardinality(String),
    -- The external id of the topic's identity; see Forum.TopicIdentity.
    identity_id   String,
    -- The name that links to the topic have, and the names of the proposals that it links.
    name          String,
    links         Array(String),
    title         String,
    summary       String,
    url           String,
    author        String,
    category      String,
    tags          Array(String),
    score         UInt8,
    related       Bool,
    posts         UInt64,
    replies       UInt64,
    likes         UInt64,
    views         UInt64,
    created_at    Nullable(DateTime64(3, 'UTC')),
    updated_at    Nullable(DateTime64(3, 'UTC')),
    visible       Bool,
    -- The versions of the topic and of the rules that it was computed from.
    topic_version UInt64,
    rules_version UInt32,
    revision      UInt64
)
ENGINE = ReplacingMergeTree(revision)
ORDER BY (host, external_id);
