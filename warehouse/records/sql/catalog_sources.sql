SELECT
    provider,
    source_id,
    max(source_name) AS name,
    max(is_flagged) AS flagged,
    sum(proposal_count) AS proposals,
    sum(topic_count) AS topics,
    max(topic_at) AS latest_topic_at,
    maxIf(synced, kind = 'proposals') AS proposals_synced_at,
    maxIf(synced, kind = 'ballots') AS ballots_synced_at,
    maxIf(synced, kind = 'topics') AS topics_synced_at,
    max(stated) AS as_of,
    minIf(ended, kind = 'proposals') AS first_import_ended_at,
    -- What is dated in the future is not there yet.
    maxIf(recorded, recorded <= now64(3)) AS newest_record_at
FROM
(
    SELECT
        toString(provider) AS provider,
        source_id,
        name AS source_name,
        flagged AS is_flagged,
        0 AS proposal_count,
        0 AS topic_count,
        CAST(NULL, 'Nullable(DateTime64(3, \'UTC\'))') AS topic_at,
        '' AS kind,
        CAST(NULL, 'Nullable(DateTime64(3, \'UTC\'))') AS synced,
        CAST(NULL, 'Nullable(DateTime64(3, \'UTC\'))') AS stated,
        CAST(NULL, 'Nullable(DateTime64(3, \'UTC\'))') AS ended,
        CAST(NULL, 'Nullable(DateTime64(3, \'UTC\'))') AS recorded
    FROM sources FINAL

    UNION ALL

    SELECT
        toString(provider),
        toString(source_id),
        '',
        false,
        countIf(NOT withdrawn),
        0,
        NULL,
        '',
        NULL,
        NULL,
        NULL,
        greatest(
            maxIf(created_at, created_at <= now64(3) AND NOT withdrawn),
            maxIf(updated_at, updated_at <= now64(3) AND NOT withdrawn)
        )
    FROM proposals FINAL
    GROUP BY
        provider,
        source_id

    UNION ALL

    SELECT
        'discourse',
        host,
        '',
        false,
        0,
        countIf(visible),
        maxIf(coalesce(updated_at, created_at), visible),
        '',
        NULL,
        NULL,
        NULL,
        maxIf(coalesce(updated_at, created_at), visible AND coalesce(updated_at, created_at) <= now64(3))
    FROM topics FINAL
    GROUP BY host

    UNION ALL

    SELECT
        toString(provider),
        source_id,
        '',
        false,
        0,
        0,
        NULL,
        toString(kind),
        synced_at,
        as_of,
        coalesce(first_ended_at, synced_at),
        NULL
    FROM syncs FINAL
)
GROUP BY
    provider,
    source_id
ORDER BY
    provider,
    source_id
