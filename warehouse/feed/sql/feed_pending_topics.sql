SELECT
    sipHash128('topic', topic.host, topic.external_id) AS item,
    topic.host AS host,
    topic.external_id AS external_id,
    topic.title AS title,
    topic.slug AS slug,
    topic.posts AS posts,
    topic.created_at AS created_at,
    topic.last_post_at AS last_post_at,
    topic.visible AS visible,
    topic.discovered_at AS discovered_at,
    topic.version AS revision,
    owner.dao_id AS dao_id,
    if(owner.id_prefix = '', 0, sipHash64(owner.id_prefix)) AS context
FROM (SELECT host, external_id, title, slug, posts, created_at, last_post_at, visible, discovered_at, version FROM topics FINAL) AS topic
GLOBAL INNER JOIN forum_owners AS owner ON topic.host = owner.host
GLOBAL LEFT JOIN
(
    SELECT
        item,
        dao_id,
        rules_version,
        revision,
        context
    FROM feed_progress FINAL
) AS done ON sipHash128('topic', topic.host, topic.external_id) = done.item
WHERE done.revision < topic.version OR done.dao_id != owner.dao_id OR done.context != context OR done.rules_version != {rules_version:UInt64}
ORDER BY
    topic.host,
    topic.external_id
LIMIT {limit:UInt64}
