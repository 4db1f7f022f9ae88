WITH (
    SELECT (any(topic), any(names))
    FROM proposal_links FINAL
    WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
) AS link
SELECT
    host,
    external_id
FROM topic_states FINAL
WHERE visible AND (link.1 != '' AND name = link.1 OR hasAny(links, link.2))
ORDER BY
    host,
    external_id
