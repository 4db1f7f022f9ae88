SELECT
    host,
    external_id,
    title,
    slug,
    category_id,
    tags,
    author,
    %s AS body_html,
    posts,
    likes,
    views,
    participants,
    created_at,
    updated_at,
    last_post_at,
    closed,
    archived,
    visible,
    withdrawn
FROM topics FINAL
WHERE (host, external_id) IN (SELECT host, external_id FROM wanted_topics)
ORDER BY
    host,
    external_id
