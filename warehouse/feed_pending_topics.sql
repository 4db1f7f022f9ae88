SELECT
    sipHash128('topic', topic.host, topic.external_id) AS item,
    topic.host,
    topic.external_id,
    topic.title,
    topic.slug,
    topic.posts,
    topic.created_at,
    topic.updated_at,
    topic.visible,
    topic.discovered_at,
    topic.version,
    owner.dao_id
FROM (SELECT host, external_id, title, slug, posts, created_at, updated_at, visible, discovered_at, version FROM topics FINAL) AS topic
GLOBAL INNER JOIN forum_owners AS owner ON topic.host = owner.host
GLOBAL LEFT JOIN
(
    SELECT
        item,
        dao_id,
        rules_version,
        revision
    FROM feed_progress FINAL
) AS done ON sipHash128('topic', topic.host, topic.external_id) = done.item
WHERE done.revision < topic.version OR done.dao_id != owner.dao_id OR done.rules_version != {rules_version:UInt64}
ORDER BY
    topic.host,
    topic.external_id
LIMIT {limit:UInt64}
