-- Few wait: the projection by_proposal tells which, and only their ballots are read. A
-- cast in two versions is one.
SELECT uniqExact(proposal_ref, voter, vote_id) AS waiting
FROM ballots
PREWHERE proposal_ref GLOBAL IN
(
    SELECT proposal_ref
    FROM ballots
    WHERE proposal_ref GLOBAL NOT IN (SELECT proposal_ref FROM proposals)
    GROUP BY proposal_ref
)
