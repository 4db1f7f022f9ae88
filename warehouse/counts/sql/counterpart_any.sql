-- Whether any of the proposals links a page or has a page that another links.
SELECT count() > 0 AS linked
FROM
(
    SELECT 1
    FROM proposals
    WHERE linked_page != ''
        AND proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
    LIMIT 1

    UNION ALL

    SELECT 1
    FROM proposals
    WHERE linked_page != ''
        AND linked_page GLOBAL IN
        (
            SELECT page
            FROM proposals
            WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
        )
    LIMIT 1
)
