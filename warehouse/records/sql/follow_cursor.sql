SELECT
    upstream,
    provider,
    source_id,
    lane AS poller,
    position,
    arrayMap(interval -> interval.1, covered) AS covered_first,
    arrayMap(interval -> interval.2, covered) AS covered_last,
    state,
    done,
    total,
    upstream_at,
    succeeded_at,
    failed_at,
    retry_at,
    failures,
    error,
    gaps,
    withdrawn,
    reorgs,
    lacks,
    version
FROM follows FINAL
WHERE ? = '' OR upstream = ?
ORDER BY
    upstream,
    provider,
    source_id,
    lane
