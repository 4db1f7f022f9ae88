-- What a publication of everything last counted, so that the next one need not count it again.
-- fingerprint is that of the stored ballots and of the statement that counted them; another one
-- makes them be counted. A migration that changes stored ballots in place has to empty both
-- tables.

-- The vote totals of each proposal.
-- shard by: cityHash64(proposal_ref)
CREATE TABLE IF NOT EXISTS vote_totals
(
    proposal_ref     FixedString(16),
    fingerprint      UInt64,
    votes            UInt64,
    total_power      Decimal(76, 18),
    supporting_power Decimal(76, 18),
    -- What each choice received; these three have one length.
    choice_keys      Array(LowCardinality(String)),
    choice_votes     Array(UInt64),
    choice_powers    Array(Decimal(76, 18)),
    -- The sums of square roots of a quadratic vote, by choice.
    root_keys        Array(LowCardinality(String)),
    choice_roots     Array(Decimal(76, 18)),
    last_voted_at    Nullable(DateTime64(3, 'UTC')),
    undated          UInt64,
    day_only         UInt64,
    rounded          UInt64,
    voted_months     Array(UInt32),
    voted_counts     Array(UInt64),
    last_observed_at DateTime64(3, 'UTC'),
    recasts          Bool,
    counted_at       DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = ReplacingMergeTree(counted_at)
ORDER BY proposal_ref;

-- The participation in each DAO.
-- shard by: cityHash64(dao_id)
CREATE TABLE IF NOT EXISTS participation
(
    dao_id        String,
    fingerprint   UInt64,
    unique_voters UInt64,
    votes         UInt64,
    counted_at    DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = ReplacingMergeTree(counted_at)
ORDER BY dao_id;
