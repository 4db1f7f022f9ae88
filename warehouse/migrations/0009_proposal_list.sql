-- Proposals as lists show them and searches find them. A publication writes a row when
-- its content has changed.

-- Queries with conditions that match many rows run without FINAL, which is twice as fast,
-- and compare what they find with the current rows by key. Blocks are small because a
-- page is a hundred scattered rows.
-- shard by: cityHash64(proposal_ref)
CREATE TABLE IF NOT EXISTS listed_proposals
(
    proposal_ref   FixedString(16),
    proposal_key   String,
    dao_id         LowCardinality(String),
    provider       LowCardinality(String),
    source_id      LowCardinality(String),
    external_id    String,
    title          String,
    source_url     String,
    discussion_url String,
    proposer_id    String,
    lifecycle      LowCardinality(String),
    outcome        LowCardinality(String),
    coverage       LowCardinality(String),
    -- 1900-01-01 for an unknown time, which sorts it before every known one.
    created_at     DateTime64(3, 'UTC'),
    updated_at     DateTime64(3, 'UTC'),
    start_at       DateTime64(3, 'UTC'),
    end_at         DateTime64(3, 'UTC'),
    -- Hash of everything but the revision.
    fingerprint    UInt64,
    revision       UInt64
)
ENGINE = ReplacingMergeTree(revision)
ORDER BY proposal_ref
SETTINGS index_granularity = 256, min_compress_block_size = 4096, max_compress_block_size = 8192;

-- Hashes of the URLs, id and title by which a proposal is found exactly. An entry may be
-- outdated: the row of the proposal decides.
-- shard by: cityHash64(proposal_ref)
CREATE TABLE IF NOT EXISTS proposal_names
(
    name         UInt64,
    -- Negated milliseconds since 1970: ascending order puts the newest first and unknown
    -- times last.
    descending   Int64,
    proposal_key String,
    proposal_ref FixedString(16),
    dao_id       LowCardinality(String),
    provider     LowCardinality(String)
)
ENGINE = ReplacingMergeTree
ORDER BY (name, descending, proposal_key)
SETTINGS index_granularity = 256;

-- Normalized titles in the order in which a search by text returns them, so that reading
-- ends with the first matches. Entries may be outdated as those of proposal_names.
-- shard by: cityHash64(proposal_ref)
CREATE TABLE IF NOT EXISTS proposal_titles
(
    -- Characters of the title.
    length       UInt32,
    descending   Int64,
    proposal_key String,
    proposal_ref FixedString(16),
    dao_id       LowCardinality(String),
    provider     LowCardinality(String),
    title        String
)
ENGINE = ReplacingMergeTree
ORDER BY (length, descending, proposal_key)
SETTINGS index_granularity = 1024;
