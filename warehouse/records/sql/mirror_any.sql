-- Whether any of the proposals is a mirror or a Governor's proposal that has one.
SELECT count() > 0 AS mirrored
FROM proposals
WHERE onchain_id != ''
    AND (
        proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
        OR onchain_id GLOBAL IN
        (
            SELECT external_id
            FROM proposals
            WHERE provider = 'governor'
                AND proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
        )
    )
