CREATE OR REPLACE VIEW $views.voter_daos
(
    voter_identity String COMMENT 'The voter; an address is in lower case.',
    dao_id String COMMENT 'The DAO.',
    vote_count UInt64 COMMENT 'Ballots that count.',
    proposal_count UInt64 COMMENT 'Proposals voted on: one ballot each counts.',
    total_voting_power Decimal(76, 18) COMMENT 'Sum of the voting power of these ballots, exact.',
    first_vote_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Earliest known time of a ballot.',
    last_vote_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Latest known time of a ballot.',
    undated_votes UInt64 COMMENT 'Ballots without a time.',
    largest_voting_power Decimal(76, 18) COMMENT 'Largest voting power of a ballot, exact.',
    latest_voting_power Nullable(Decimal(76, 18)) COMMENT 'Voting power of the latest ballot with a time, exact; NULL if none has one.'
)
SQL SECURITY INVOKER
COMMENT 'What each voter did in each DAO. As daos of /v2/voters/:voterIdentity.'
AS
SELECT
    voter_identity,
    dao_id,
    count() AS vote_count,
    count() AS proposal_count,
    sum(voting_power) AS total_voting_power,
    min(voted_at) AS first_vote_at,
    max(voted_at) AS last_vote_at,
    countIf(voted_at IS NULL) AS undated_votes,
    max(voting_power) AS largest_voting_power,
    argMaxOrNullIf(voting_power, (assumeNotNull(voted_at), proposal_key), voted_at IS NOT NULL) AS latest_voting_power
FROM $views.ballots
WHERE NOT flagged
GROUP BY
    voter_identity,
    dao_id;
