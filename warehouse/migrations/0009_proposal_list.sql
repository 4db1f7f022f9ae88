-- Proposals as lists show them and look-ups find them: a row is written when what
-- it says has changed, at the end of a publication.

-- Reading goes without FINAL where a condition may let many through, because it is
-- twice as fast: what is found is then held against the current rows by their
-- key. For that the blocks are small: a page is a hundred rows from anywhere.
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
    -- 1900-01-01 where no time is known: before any that is.
    created_at     DateTime64(3, 'UTC'),
    updated_at     DateTime64(3, 'UTC'),
    start_at       DateTime64(3, 'UTC'),
    end_at         DateTime64(3, 'UTC'),
    -- Of everything but the revision.
    fingerprint    UInt64,
    revision       UInt64
)
ENGINE = ReplacingMergeTree(revision)
ORDER BY proposal_ref
SETTINGS index_granularity = 256, min_compress_block_size = 4096, max_compress_block_size = 8192;

-- What a proposal is found by exactly: hashes of its addresses, id and title. An
-- entry may be out of date: the row of the proposal says whether it holds.
-- shard by: cityHash64(proposal_ref)
CREATE TABLE IF NOT EXISTS proposal_names
(
    name         UInt64,
    -- Milliseconds since 1970, negative: the newest first, those without a time last.
    descending   Int64,
    proposal_key String,
    proposal_ref FixedString(16),
    dao_id       LowCardinality(String),
    provider     LowCardinality(String)
)
ENGINE = ReplacingMergeTree
ORDER BY (name, descending, proposal_key)
SETTINGS index_granularity = 256;

-- Titles in the order in which those that contain a text are shown, so that reading
-- ends with the first few: compared without regard to case, as Go folds it.
-- Entries may be out of date as those of proposal_names may.
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
