-- Reads every version of every ballot without merging: neither revotes nor versions
-- change who voted on what. Only a withdrawal does: an index finds the few voters with one,
-- and those without another ballot do not count. The voters of each proposal are collected
-- once, in the order of the table; their sets are joined with the DAO instead of the rows.
-- Counting pairs of proposal and voter beside the voters takes twice as long.
SELECT
    states.dao_id AS dao_id,
    uniqExactMerge(by_proposal.voters) AS unique_voters,
    sum(finalizeAggregation(by_proposal.voters)) AS votes
FROM
(
    SELECT
        proposal_ref,
        uniqExactState(voter) AS voters
    FROM ballots
    WHERE proposal_ref GLOBAL IN
    (
        SELECT proposal_ref
        FROM proposal_states FINAL
        WHERE dao_id IN (SELECT dao_id FROM wanted_daos) AND NOT flagged
    )
        AND (proposal_ref, voter) GLOBAL NOT IN
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
ORDER BY states.dao_id
SETTINGS optimize_aggregation_in_order = 1
