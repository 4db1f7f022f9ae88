CREATE OR REPLACE VIEW $views.dao_participation
(
    dao_id String COMMENT 'The DAO.',
    unique_voters UInt64 COMMENT 'Voters with a ballot that counts.',
    total_votes UInt64 COMMENT 'Ballots that count.',
    total_voting_power Decimal(76, 18) COMMENT 'Sum of their voting power, exact.'
)
SQL SECURITY INVOKER
COMMENT 'How many took part in each DAO that has ballots. As participation of /v2/daos/:daoId.'
AS
SELECT
    dao_id,
    uniqExact(voter_identity) AS unique_voters,
    count() AS total_votes,
    sum(voting_power) AS total_voting_power
FROM $views.ballots
WHERE NOT flagged
GROUP BY dao_id;
