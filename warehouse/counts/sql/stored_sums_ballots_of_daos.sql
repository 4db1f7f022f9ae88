-- The same of the ballots on all proposals of each DAO.
SELECT
    states.dao_id AS dao_id,
    cityHash64({statement:UInt64}, count(), sum(cityHash64(by_proposal.proposal_ref, by_proposal.fingerprint))) AS fingerprint
FROM
(
    SELECT
        proposal_ref,
        cityHash64(count(), sum(cityHash64(ballots.fingerprint, version))) AS fingerprint
    FROM ballots
    WHERE proposal_ref GLOBAL IN
    (
        SELECT proposal_ref
        FROM proposal_states FINAL
        WHERE dao_id IN (SELECT dao_id FROM wanted_daos) AND NOT flagged
    )
    GROUP BY proposal_ref
) AS by_proposal
INNER JOIN
(
    SELECT
        proposal_ref,
        dao_id
    FROM proposal_states FINAL
    WHERE dao_id IN (SELECT dao_id FROM wanted_daos) AND NOT flagged
) AS states ON by_proposal.proposal_ref = states.proposal_ref
GROUP BY states.dao_id
