CREATE OR REPLACE VIEW $views.voter_daos
(
    voter_identity String COMMENT 'The voter.',
    dao_id String COMMENT 'The DAO.',
    vote_count UInt64 COMMENT 'Ballots that count.',
    proposal_count UInt64 COMMENT 'Proposals voted on: one ballot each counts.',
    total_voting_power Decimal(76, 18) COMMENT 'Sum of the voting power of these ballots, exact.',
    first_vote_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Earliest known time of a ballot.',
    last_vote_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Latest known time of a ballot.'
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
    max(voted_at) AS last_vote_at
FROM $views.ballots
WHERE NOT flagged
GROUP BY
    voter_identity,
    dao_id;
