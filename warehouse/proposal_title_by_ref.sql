-- Without FINAL, which costs half as much again.
SELECT
    proposal_ref,
    title
FROM proposals
WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
ORDER BY
    proposal_ref,
    version DESC
LIMIT 1 BY proposal_ref
SETTINGS max_threads = 1
