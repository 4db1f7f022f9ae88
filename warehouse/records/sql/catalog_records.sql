-- How many records sources have, and how new they are. What is dated in the future is not there yet.
SELECT
    provider,
    source_id,
    sum(proposal_count) AS proposals,
    sum(topic_count) AS topics,
    max(topic_at) AS latest_topic_at,
    max(record_at) AS newest_record_at,
    max(ballot_at) AS newest_ballot_at
FROM
(
    SELECT
        toString(provider) AS provider,
        toString(source_id) AS source_id,
        countIf(NOT withdrawn) AS proposal_count,
        0 AS topic_count,
        CAST(NULL, 'Nullable(DateTime64(3, \'UTC\'))') AS topic_at,
        greatest(
            maxIf(created_at, created_at <= now64(3) AND NOT withdrawn),
            maxIf(updated_at, updated_at <= now64(3) AND NOT withdrawn)
        ) AS record_at,
        CAST(NULL, 'Nullable(DateTime64(3, \'UTC\'))') AS ballot_at
    FROM proposals FINAL
    GROUP BY
        provider,
        source_id

    UNION ALL

    SELECT
        'discourse',
        host,
        0,
        countIf(visible),
        maxIf(coalesce(updated_at, created_at), visible),
        maxIf(coalesce(updated_at, created_at), visible AND coalesce(updated_at, created_at) <= now64(3)),
        NULL
    FROM topics FINAL
    GROUP BY host

    UNION ALL

    SELECT
        toString(provider),
        toString(source_id),
        0,
        0,
        NULL,
        NULL,
        maxIf(last_voted_at, last_voted_at <= now64(3))
    FROM proposal_states FINAL
    WHERE dao_id != ''
    GROUP BY
        provider,
        source_id
)
GROUP BY
    provider,
    source_id
ORDER BY
    provider,
    source_id
