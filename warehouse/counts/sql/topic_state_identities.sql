SELECT
    host,
    external_id,
    dao_id,
    provider,
    identity_id,
    category,
    topic_version
FROM topic_states FINAL
WHERE (host, external_id) IN (SELECT host, external_id FROM wanted_topics)
ORDER BY
    host,
    external_id
