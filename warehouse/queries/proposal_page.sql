-- In the order of a projection of the table: reading ends with the first rows that the
-- conditions let through. Some may be of an earlier version.
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
WHERE %s
ORDER BY %s
LIMIT {limit:UInt64}
