WITH
    links AS
    (
        SELECT
            proposal_ref,
            topic,
            names
        FROM proposal_links FINAL
        WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
    ),
    opened AS
    (
        SELECT
            name,
            links,
            created_at
        FROM topic_states FINAL
        WHERE visible AND created_at IS NOT NULL
    )
SELECT
    proposal_ref,
    assumeNotNull(min(created_at)) AS opened_at
FROM
(
    SELECT
        links.proposal_ref AS proposal_ref,
        opened.created_at AS created_at
    FROM links
    INNER JOIN opened ON links.topic = opened.name
    WHERE links.topic != ''
    UNION ALL
    SELECT
        linked.proposal_ref AS proposal_ref,
        topics.created_at AS created_at
    FROM
    (
        SELECT
            proposal_ref,
            arrayJoin(names) AS link
        FROM links
    ) AS linked
    INNER JOIN
    (
        SELECT
            arrayJoin(links) AS link,
            created_at
        FROM opened
    ) AS topics ON linked.link = topics.link
)
GROUP BY proposal_ref
