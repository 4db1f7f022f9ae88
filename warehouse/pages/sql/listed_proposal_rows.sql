-- Without FINAL, which takes twice as long for scattered rows: some rows may be of an
-- earlier version.
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
    proposer_id,
    lifecycle,
    outcome,
    coverage,
    flagged,
    created_at,
    updated_at,
    start_at,
    end_at,
    revision
FROM listed_proposals
WHERE %s
ORDER BY %s
LIMIT %s
