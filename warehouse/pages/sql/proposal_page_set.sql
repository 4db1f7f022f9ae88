-- The rows of several pages of one shape, by their versions alone.
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
        proposer_id,
        lifecycle,
        outcome,
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
