CREATE OR REPLACE VIEW $views.dao_voters
(
    dao_id String COMMENT 'The DAO.',
    rank UInt64 COMMENT 'Place by total_voting_power in the DAO, from 1.',
    voter_identity String COMMENT 'The voter; an address is in lower case.',
    voter_address Nullable(String) COMMENT 'The voter, where it is an address.',
    total_voting_power Decimal(76, 18) COMMENT 'Sum of the voting power of the ballots that count, exact: who votes twice has it twice.',
    vote_count UInt64 COMMENT 'Ballots that count.',
    proposal_count UInt64 COMMENT 'Proposals voted on: one ballot each counts.'
)
SQL SECURITY INVOKER
COMMENT 'The voters of each DAO, ranked by voting power. As /v2/daos/:daoId/voters.'
AS
SELECT
    dao_id,
    row_number() OVER (PARTITION BY dao_id ORDER BY total_voting_power DESC, voter_identity) AS rank,
    voter_identity,
    if(startsWith(voter_identity, '0x'), voter_identity, NULL) AS voter_address,
    total_voting_power,
    vote_count,
    vote_count AS proposal_count
FROM
(
    SELECT
        dao_id,
        voter_identity,
        sum(voting_power) AS total_voting_power,
        count() AS vote_count
    FROM $views.ballots
    WHERE NOT flagged
    GROUP BY
        dao_id,
        voter_identity
);
