-- Every ballot cast, superseded ones included. latest_ballots has those that count. Most
-- proposals have a few hundred, hence small granules: a page of one reads one or two. Tables
-- of version 0.1.0 keep granules of 8,192 rows.
-- shard by: cityHash64(proposal_ref)
CREATE TABLE IF NOT EXISTS ballots
(
    proposal_ref   FixedString(16),
    voter          String,
    vote_id        String,
    provider       LowCardinality(String),
    -- External id of the proposal, to identify a ballot whose proposal never arrives.
    external_id    String CODEC(ZSTD(1)),
    power          Decimal(76, 18),
    power_rounded  Bool,
    choices        Array(LowCardinality(String)),
    shares         Array(Decimal(76, 18)),
    roots          Array(Decimal(76, 18)),
    choice_key     LowCardinality(String),
    raw_choice     String,
    voted_at       Nullable(DateTime64(3, 'UTC')),
    voted_day_only Bool,
    tx_hash        String,
    reason         String,
    fingerprint    UInt64,
    version        UInt64,
    discovered_at  DateTime64(3, 'UTC'),
    observed_at    DateTime64(3, 'UTC'),
    import_id      UUID
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (proposal_ref, voter, vote_id)
SETTINGS deduplicate_merge_projection_mode = 'rebuild', index_granularity = 1024;

-- The ballot of each voter on each proposal that counts: a dated one before an undated
-- one, then the later one, then the greater id. Conditions on proposal_ref and voter are
-- pushed below the LIMIT BY; reading in the order of the table makes this five times
-- faster than argMax or a window.
CREATE VIEW IF NOT EXISTS latest_ballots AS
SELECT *
FROM ballots FINAL
ORDER BY
    proposal_ref,
    voter,
    voted_at IS NULL,
    voted_at DESC,
    vote_id DESC
LIMIT 1 BY
    proposal_ref,
    voter;
