-- The rows of several pages of one shape, by their versions alone. The inner query has every
-- column that a filter may compare; ClickHouse reads those alone that one does.
SELECT
    page,
    proposal_ref,
    revision
FROM
(
    SELECT
        proposal_ref,
        proposal_key,
        dao_id,
        provider,
        source_id,
        external_id,
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
) AS listed
CROSS JOIN wanted_pages
WHERE %s
ORDER BY
    page,
    %s
LIMIT {limit:UInt64} BY page
SETTINGS max_threads = 1
