SELECT
    topic.host AS host,
    topic.external_id AS external_id,
    topic.title AS title,
    topic.slug AS slug,
    category.name AS category,
    topic.tags AS tags,
    topic.author AS author,
    topic.body_html AS body_html,
    topic.posts AS posts,
    topic.likes AS likes,
    topic.views AS views,
    topic.participants AS participants,
    topic.created_at AS created_at,
    topic.updated_at AS updated_at,
    topic.last_post_at AS last_post_at,
    topic.visible AS visible,
    topic.version AS version
FROM
(
    SELECT *
    FROM topics FINAL
    WHERE (host, external_id) IN (SELECT host, external_id FROM wanted_topics)
) AS topic
GLOBAL LEFT JOIN
(
    SELECT
        host,
        category_id,
        name
    FROM categories FINAL
    WHERE host IN (SELECT host FROM wanted_topics)
) AS category ON topic.host = category.host AND topic.category_id = category.category_id
ORDER BY
    host,
    external_id
