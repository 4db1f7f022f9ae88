-- Without FINAL, which takes twice as long for rows from anywhere.
SELECT
    proposal_ref,
    proposal_key,
    dao_id,
    provider,
    source_id,
    external_id,
    title,
    source_url,
    discussion_url,
    lifecycle,
    outcome,
    coverage,
    created_at,
    updated_at,
    end_at,
    revision
FROM listed_proposals
WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
ORDER BY
    proposal_ref,
    revision DESC
LIMIT 1 BY proposal_ref
