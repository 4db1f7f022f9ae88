SELECT
    topic.host AS host,
    topic.external_id AS external_id
FROM
(
    SELECT
        host,
        external_id,
        category_id,
        version
    FROM topics FINAL
    WHERE host IN (SELECT host FROM wanted_forums)
) AS topic
GLOBAL LEFT JOIN
(
    SELECT
        host,
        external_id,
        dao_id,
        identity_id,
        category,
        topic_version,
        rules_version,
        revision
    FROM topic_states FINAL
    WHERE host IN (SELECT host FROM wanted_forums)
) AS state ON topic.host = state.host AND topic.external_id = state.external_id
GLOBAL LEFT JOIN
(
    SELECT
        host,
        category_id,
        name
    FROM categories FINAL
    WHERE host IN (SELECT host FROM wanted_forums)
) AS category ON topic.host = category.host AND topic.category_id = category.category_id
GLOBAL INNER JOIN wanted_forums AS forum ON topic.host = forum.host
WHERE state.topic_version != topic.version
    OR state.rules_version != {rules_version:UInt32}
    OR state.dao_id != forum.dao_id
    OR state.identity_id != concat(forum.id_prefix, topic.external_id)
    OR state.category != category.name
    OR state.revision > {since:UInt64}
ORDER BY
    host,
    external_id
