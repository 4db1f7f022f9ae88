SELECT
    dao_id,
    proposal_ref,
    revision
FROM listed_proposals
WHERE dao_id IN (SELECT dao_id FROM wanted_daos) AND NOT flagged
ORDER BY
    dao_id,
    updated_at DESC,
    proposal_key DESC,
    revision DESC
LIMIT ? BY dao_id
