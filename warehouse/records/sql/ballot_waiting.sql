-- Few ballots wait. The projection by_proposal finds their proposals, and only their
-- ballots are read. A ballot with two stored versions counts once, and one that was
-- withdrawn does not; an index finds these.
SELECT uniqExact(proposal_ref, voter, vote_id) AS waiting
FROM ballots
PREWHERE proposal_ref GLOBAL IN
(
    SELECT proposal_ref
    FROM ballots
    WHERE proposal_ref GLOBAL NOT IN (SELECT proposal_ref FROM proposals)
    GROUP BY proposal_ref
)
WHERE (proposal_ref, voter, vote_id) GLOBAL NOT IN
(
    SELECT
        proposal_ref,
        voter,
        vote_id
    FROM ballots
    WHERE (proposal_ref, voter, vote_id) GLOBAL IN (SELECT proposal_ref, voter, vote_id FROM ballots WHERE withdrawn = true)
    GROUP BY
        proposal_ref,
        voter,
        vote_id
    HAVING argMax(withdrawn, version)
)
