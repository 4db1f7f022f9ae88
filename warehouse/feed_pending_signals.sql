SELECT
    sipHash128('signal', signal.signal_id) AS item,
    signal.signal_id AS signal_id,
    signal.signal_type AS signal_type,
    signal.dao_id AS dao_id,
    signal.provider AS provider,
    signal.external_id AS external_id,
    signal.title AS title,
    signal.summary AS summary,
    signal.source_url AS source_url,
    signal.actionability AS actionability,
    signal.severity AS severity,
    signal.score AS score,
    signal.surfaces AS surfaces,
    signal.detected_at AS detected_at,
    signal.deadline_at AS deadline_at,
    signal.evidence AS evidence,
    signal.version AS revision
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
