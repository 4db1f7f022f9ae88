-- The titles as they are published: of a proposal without one they are taken from its text.
-- Without FINAL, which costs half as much again.
SELECT
    proposal_ref,
    title
FROM listed_proposals
WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
ORDER BY
    proposal_ref,
    revision DESC
LIMIT 1 BY proposal_ref
SETTINGS max_threads = 1
