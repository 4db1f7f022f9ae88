SELECT
    proposal_ref,
    dao_id,
    fingerprint,
    revision
FROM listed_proposals
WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
ORDER BY
    proposal_ref,
    revision DESC
LIMIT 1 BY proposal_ref
