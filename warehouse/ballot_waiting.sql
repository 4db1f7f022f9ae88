-- Few ballots wait. The projection by_proposal finds their proposals, and only their
-- ballots are read. A ballot with two stored versions counts once.
SELECT uniqExact(proposal_ref, voter, vote_id) AS waiting
FROM ballots
PREWHERE proposal_ref GLOBAL IN
(
    SELECT proposal_ref
    FROM ballots
    WHERE proposal_ref GLOBAL NOT IN (SELECT proposal_ref FROM proposals)
    GROUP BY proposal_ref
)
