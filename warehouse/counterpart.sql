-- Proposals of two providers, one of which names the page of the other. Few do:
-- those are found without merging versions, and read again as they stand.
WITH
    wanted_pages AS
    (
        SELECT page
        FROM proposals
        WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
    ),
    links AS
    (
        SELECT
            proposal_ref,
            linked_page
        FROM proposals
        WHERE linked_page != ''
            AND ({every:Bool} OR proposal_ref IN (SELECT proposal_ref FROM wanted_proposals))

        UNION ALL

        SELECT
            proposal_ref,
            linked_page
        FROM proposals
        WHERE linked_page != ''
            AND linked_page GLOBAL IN (SELECT page FROM wanted_pages)
    )
SELECT
    linking.proposal_ref AS one,
    linked.proposal_ref AS other
FROM
(
    SELECT
        proposal_ref,
        provider,
        linked_page
    FROM proposals FINAL
    WHERE proposal_ref GLOBAL IN (SELECT proposal_ref FROM links)
) AS linking
GLOBAL INNER JOIN
(
    SELECT
        proposal_ref,
        provider,
        page
    FROM proposals FINAL
    WHERE proposal_ref GLOBAL IN
    (
        SELECT proposal_ref
        FROM proposals
        WHERE page GLOBAL IN (SELECT linked_page FROM links)
    )
) AS linked ON linked.page = linking.linked_page
WHERE linking.provider != linked.provider
ORDER BY
    one,
    other
