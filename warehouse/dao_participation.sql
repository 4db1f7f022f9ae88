-- Reads every version of every ballot without merging: neither revotes nor versions
-- change who voted on what. Only a withdrawal does: an index finds the few voters with one,
-- and those without another ballot do not count.
SELECT
    states.dao_id AS dao_id,
    uniqExact(ballots.voter) AS unique_voters,
    uniqExact(ballots.proposal_ref, ballots.voter) AS votes
FROM ballots
GLOBAL INNER JOIN
(
    SELECT
        proposal_ref,
        dao_id
    FROM proposal_states FINAL
    WHERE dao_id IN (SELECT dao_id FROM wanted_daos)
) AS states ON ballots.proposal_ref = states.proposal_ref
WHERE ballots.proposal_ref GLOBAL IN
(
    SELECT proposal_ref
    FROM proposal_states FINAL
    WHERE dao_id IN (SELECT dao_id FROM wanted_daos)
)
    AND (ballots.proposal_ref, ballots.voter) GLOBAL NOT IN
    (
        SELECT
            proposal_ref,
            voter
        FROM
        (
            SELECT
                proposal_ref,
                voter,
                argMax(withdrawn, version) AS gone
            FROM ballots
            WHERE (proposal_ref, voter) GLOBAL IN (SELECT proposal_ref, voter FROM ballots WHERE withdrawn = true)
            GROUP BY
                proposal_ref,
                voter,
                vote_id
        )
        GROUP BY
            proposal_ref,
            voter
        HAVING min(gone)
    )
GROUP BY states.dao_id
ORDER BY states.dao_id
