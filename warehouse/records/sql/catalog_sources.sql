-- The sources, with when imports read them. A source may have records alone; one that a proposal named
-- before is none.
SELECT
    provider,
    source_id,
    max(source_name) AS name,
    max(is_flagged) AS flagged,
    maxIf(synced, kind = 'proposals') AS proposals_synced_at,
    maxIf(synced, kind = 'ballots') AS ballots_synced_at,
    maxIf(synced, kind = 'topics') AS topics_synced_at,
    max(stated) AS as_of,
    minIf(ended, kind = 'proposals') AS first_import_ended_at,
    max(lacking) AS lacks
FROM
(
    SELECT
        toString(provider) AS provider,
        source_id,
        name AS source_name,
        flagged AS is_flagged,
        '' AS kind,
        CAST(NULL, 'Nullable(DateTime64(3, \'UTC\'))') AS synced,
        CAST(NULL, 'Nullable(DateTime64(3, \'UTC\'))') AS stated,
        CAST(NULL, 'Nullable(DateTime64(3, \'UTC\'))') AS ended,
        false AS lacking
    FROM sources FINAL

    UNION ALL

    SELECT DISTINCT
        toString(provider),
        toString(source_id),
        '',
        false,
        '',
        NULL,
        NULL,
        NULL,
        false
    FROM proposals FINAL

    UNION ALL

    SELECT DISTINCT
        'discourse',
        host,
        '',
        false,
        '',
        NULL,
        NULL,
        NULL,
        false
    FROM topics

    UNION ALL

    SELECT
        toString(provider),
        source_id,
        '',
        false,
        toString(kind),
        synced_at,
        as_of,
        coalesce(first_ended_at, synced_at),
        lacks
    FROM syncs FINAL
)
GROUP BY
    provider,
    source_id
ORDER BY
    provider,
    source_id
