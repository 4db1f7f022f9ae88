SELECT
    sipHash128('signal', signal.signal_id) AS item,
    signal.signal_id,
    signal.signal_type,
    signal.dao_id,
    signal.provider,
    signal.external_id,
    signal.title,
    signal.summary,
    signal.source_url,
    signal.actionability,
    signal.severity,
    signal.score,
    arrayMap(surface -> toString(surface), signal.surfaces) AS shown_on,
    signal.detected_at,
    signal.deadline_at,
    signal.evidence,
    signal.version
FROM (SELECT signal_id, signal_type, dao_id, provider, external_id, title, summary, source_url, actionability, severity, score, surfaces, detected_at, deadline_at, evidence, version FROM signals FINAL) AS signal
GLOBAL LEFT JOIN
(
    SELECT
        item,
        rules_version,
        revision
    FROM feed_progress FINAL
) AS done ON sipHash128('signal', signal.signal_id) = done.item
WHERE done.revision < signal.version OR done.rules_version != {rules_version:UInt64}
ORDER BY signal.signal_id
LIMIT {limit:UInt64}
