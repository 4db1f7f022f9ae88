SELECT
    sipHash128('signal', signal.signal_id) AS item,
    signal.signal_id AS signal_id,
    signal.signal_type AS signal_type,
    signal.owner AS dao_id,
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
FROM
(
    -- Without a DAO, if the proposal that it is about is withdrawn: it is not shown, and
    -- pending again once the proposal is back.
    SELECT
        signal_id,
        signal_type,
        if(
            provider != '' AND toFixedString(substring(SHA256(concat(provider, char(0), external_id)), 1, 16), 16)
                GLOBAL IN (SELECT proposal_ref FROM proposal_states FINAL WHERE dao_id = '' OR flagged),
            '', dao_id
        ) AS owner,
        provider,
        external_id,
        title,
        summary,
        source_url,
        actionability,
        severity,
        score,
        surfaces,
        detected_at,
        deadline_at,
        evidence,
        version
    FROM signals FINAL
) AS signal
GLOBAL LEFT JOIN
(
    SELECT
        item,
        dao_id,
        rules_version,
        revision
    FROM feed_progress FINAL
) AS done ON sipHash128('signal', signal.signal_id) = done.item
WHERE done.revision < signal.version OR done.dao_id != signal.owner OR done.rules_version != {rules_version:UInt64}
ORDER BY signal.signal_id
LIMIT {limit:UInt64}
