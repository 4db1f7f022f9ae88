CREATE OR REPLACE VIEW $views.voters
(
    voter_identity String COMMENT 'The voter; an address is in lower case.',
    voter_address Nullable(String) COMMENT 'The voter, where it is an address.',
    dao_count UInt64 COMMENT 'DAOs voted in.',
    vote_count UInt64 COMMENT 'Ballots that count.',
    proposal_count UInt64 COMMENT 'Proposals voted on: one ballot each counts.',
    total_voting_power Decimal(76, 18) COMMENT 'Sum of the voting power over all DAOs, whose units differ.',
    first_vote_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Earliest known time of a ballot.',
    last_vote_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Latest known time of a ballot.',
    undated_votes UInt64 COMMENT 'Ballots without a time.',
    largest_voting_power Decimal(76, 18) COMMENT 'Largest voting power of a ballot, exact.',
    latest_voting_power Nullable(Decimal(76, 18)) COMMENT 'Voting power of the latest ballot with a time, exact; NULL if none has one.'
)
SQL SECURITY INVOKER
COMMENT 'The voters over all DAOs, one row each. As /v2/voters/:voterIdentity.'
AS
SELECT
    voter_identity,
    if(startsWith(voter_identity, '0x'), voter_identity, NULL) AS voter_address,
    uniqExact(dao_id) AS dao_count,
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
GROUP BY voter_identity;
