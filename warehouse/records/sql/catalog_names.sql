SELECT
    provider,
    source_id,
    max(source_name) AS name
FROM
(
    SELECT
        toString(provider) AS provider,
        source_id,
        name AS source_name
    FROM sources FINAL

    UNION ALL

    SELECT DISTINCT
        toString(provider),
        toString(source_id),
        ''
    FROM proposals

    UNION ALL

    SELECT DISTINCT
        'discourse',
        host,
        ''
    FROM topics

    UNION ALL

    SELECT DISTINCT
        toString(provider),
        source_id,
        ''
    FROM syncs
)
GROUP BY
    provider,
    source_id
