SELECT
    signal_id,
    signal_type,
    dao_id,
    proposal_key,
    title,
    summary,
    source_url,
    actionability,
    severity,
    score,
    detected_at,
    deadline_at AS deadline_at_ms,
    evidence,
    (item = sipHash128('signal', signal_id))::Bool AS recorded
FROM feed_signals FINAL
WHERE detected_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
    AND signal_id IN {ids:Array(String)}
