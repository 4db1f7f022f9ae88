-- Sorted copies of large proposals and DAOs: a page at any depth reads a few granules.
-- Each build of a copy is a generation and a partition. Readers use the generation that
-- sorted_copies names, so a build becomes visible as a whole, and dropping the previous
-- partition leaves nothing behind. Pages have at most 500 rows, hence small granules.
--
-- Version 0.1.0 keeps its copies in ordered_ballots, ranked_voters and orders. They stay for
-- a rollback to it; copies are built again from the ballots.

-- shard by: generation
CREATE TABLE IF NOT EXISTS sorted_ballots
(
    generation UInt64,
    voter      String,
    vote_id    String,
    choice_key LowCardinality(String),
    raw_choice String,
    power      Decimal(76, 18),
    -- 1900-01-01 for an unknown time, which sorts it before every known one.
    voted_at   DateTime64(3, 'UTC'),
    tx_hash    String,
    PROJECTION by_time
    (
        SELECT *
        ORDER BY
            generation,
            voted_at,
            voter
    )
)
ENGINE = MergeTree
PARTITION BY generation
ORDER BY (generation, power, voter)
SETTINGS index_granularity = 1024;

-- shard by: generation
CREATE TABLE IF NOT EXISTS sorted_voters
(
    generation UInt64,
    -- The negated total power: ascending order puts the highest power first.
    descending Decimal(76, 18),
    voter      String,
    rank       UInt64,
    votes      UInt64
)
ENGINE = MergeTree
PARTITION BY generation
ORDER BY (generation, descending, voter)
SETTINGS index_granularity = 1024;

-- The current generation of each copy. kind is "ballots" with a proposal key as subject,
-- or "voters" with a DAO id.
-- shard by: cityHash64(subject)
CREATE TABLE IF NOT EXISTS sorted_copies
(
    kind       LowCardinality(String),
    subject    String,
    generation UInt64,
    -- The publication whose numbers the copy matches.
    revision   UInt64
)
ENGINE = ReplacingMergeTree(generation)
ORDER BY (kind, subject);
