-- Copies of what large proposals and DAOs are asked for, in the orders in which
-- they are asked for it, so that any page at any depth reads a few granules. Each
-- build of a copy is a generation, and a partition: readers go by the generation
-- that orders names, so a build shows all at once or not at all, and the one before
-- is dropped without a trace. A page has 500 rows at the most: granules are no longer
-- than it takes to find them.

-- shard by: generation
CREATE TABLE IF NOT EXISTS ordered_ballots
(
    generation UInt64,
    voter      String,
    vote_id    String,
    choice_key LowCardinality(String),
    raw_choice String,
    power      Decimal(76, 18),
    -- 1900-01-01 where no time is known: before any that is.
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
CREATE TABLE IF NOT EXISTS ranked_voters
(
    generation UInt64,
    -- The total power, negative: the highest first, equal ones by voter.
    descending Decimal(76, 18),
    voter      String,
    rank       UInt64,
    votes      UInt64
)
ENGINE = MergeTree
PARTITION BY generation
ORDER BY (generation, descending, voter)
SETTINGS index_granularity = 1024;

-- Which generation is the current one of each copy: kind is "ballots" with the
-- proposal's key as subject, or "voters" with the DAO's id.
-- shard by: cityHash64(subject)
CREATE TABLE IF NOT EXISTS orders
(
    kind       LowCardinality(String),
    subject    String,
    generation UInt64,
    -- The publication whose numbers it agrees with.
    revision   UInt64
)
ENGINE = ReplacingMergeTree(generation)
ORDER BY (kind, subject);
