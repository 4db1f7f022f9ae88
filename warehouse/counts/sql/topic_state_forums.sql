SELECT DISTINCT
    host,
    dao_id,
    substring(identity_id, 1, length(identity_id) - length(external_id)) AS id_prefix
FROM topic_states FINAL
ORDER BY
    host,
    dao_id,
    id_prefix
