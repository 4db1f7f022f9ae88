-- The topics that are linked with proposals.
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
    topics AS
    (
        SELECT
            host,
            external_id,
            name,
            links,
            created_at
        FROM topic_states FINAL
        WHERE visible
    )
SELECT
    links.proposal_ref AS proposal_ref,
    host,
    external_id,
    created_at
FROM links
INNER JOIN topics ON links.topic = topics.name
WHERE links.topic != ''

UNION DISTINCT

SELECT
    linked.proposal_ref AS proposal_ref,
    host,
    external_id,
    created_at
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
        host,
        external_id,
        created_at,
        arrayJoin(links) AS link
    FROM topics
) AS topic ON linked.link = topic.link
