SELECT
    proposal_ref,
    title,
    proposer_id
FROM proposals FINAL
WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
SETTINGS max_threads = 1
