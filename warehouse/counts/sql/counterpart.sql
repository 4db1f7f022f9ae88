-- Pairs of proposals at two providers, one of which links the page of the other. They are
-- few: they are found among all versions and then read at their latest version.
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
    source.proposal_ref AS linking,
    target.proposal_ref AS linked
FROM
(
    SELECT
        proposal_ref,
        provider,
        linked_page
    FROM proposals FINAL
    WHERE proposal_ref GLOBAL IN (SELECT proposal_ref FROM links)
) AS source
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
) AS target ON target.page = source.linked_page
WHERE source.provider != target.provider
ORDER BY
    linking,
    linked
