-- shard by: cityHash64(proposal_ref)
CREATE TABLE IF NOT EXISTS proposals
(
    -- First 128 bits of SHA-256 of provider and external id. Ballots refer to a proposal
    -- by it before its DAO is known.
    proposal_ref     FixedString(16),
    provider         LowCardinality(String),
    source_id        LowCardinality(String),
    external_id      String,
    title            String,
    body             String CODEC(ZSTD(3)),
    proposer_id      String,
    source_url       String,
    discussion_url   String,
    vote_type        LowCardinality(String),
    state            LowCardinality(String),
    choices          Array(String),
    quorum_raw       String,
    quorum           Nullable(Decimal(76, 18)),
    created_at       Nullable(DateTime64(3, 'UTC')),
    updated_at       Nullable(DateTime64(3, 'UTC')),
    start_at         Nullable(DateTime64(3, 'UTC')),
    end_at           Nullable(DateTime64(3, 'UTC')),
    start_day_only   Bool,
    end_day_only     Bool,
    stated_scores    Array(Decimal(76, 18)),
    stated_total     Nullable(Decimal(76, 18)),
    stated_votes     Nullable(UInt64),
    flagged          Bool,
    upstream_id      String,
    upstream_type    LowCardinality(String),
    upstream_status  LowCardinality(String),
    milestone_types  Array(LowCardinality(String)),
    milestone_times  Array(Nullable(DateTime64(3, 'UTC'))),
    milestone_hashes Array(String),
    fingerprint      UInt64,
    version          UInt64,
    discovered_at    DateTime64(3, 'UTC'),
    observed_at      DateTime64(3, 'UTC'),
    import_id        UUID
)
ENGINE = ReplacingMergeTree(version)
ORDER BY proposal_ref;
