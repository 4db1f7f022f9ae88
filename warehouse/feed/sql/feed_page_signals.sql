-- Two numbers rank the rows, ascending. Equal ranks are in descending order of ids, or
-- ascending when the list is ordered by deadline: those to come, the past ones, those without.
WITH
    multiIf(
        {order:String} = 'priorityDesc', -toInt64(score),
        {order:String} = 'detectedDesc', -toUnixTimestamp64Milli(detected_at),
        deadline_at IS NULL, 2,
        deadline_ms <= {as_of:Int64}
    ) AS first_rank,
    ifNull(toUnixTimestamp64Milli(deadline_at), 0) AS deadline_ms,
    multiIf(
        {order:String} != 'deadlineAsc', -toUnixTimestamp64Milli(detected_at),
        first_rank = 1, -deadline_ms,
        deadline_ms
    ) AS second_rank
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
WHERE detected_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC')
    AND detected_at <= fromUnixTimestamp64Milli({last:Int64}, 'UTC')
    AND ({dao:String} = '' OR dao_id = {dao:String})
    AND (empty({types:Array(String)}) OR has({types:Array(String)}, toString(signal_type)))
    AND has(surfaces, {surface:String})
    AND score >= {least:UInt8}
    AND (
        {after_id:String} = ''
        OR (first_rank, second_rank) > ({after_first:Int64}, {after_second:Int64})
        OR (first_rank, second_rank) = ({after_first:Int64}, {after_second:Int64})
        AND if({order:String} = 'deadlineAsc', signal_id > {after_id:String}, signal_id < {after_id:String})
    )
ORDER BY
    first_rank,
    second_rank,
    if({order:String} = 'deadlineAsc', signal_id, ''),
    signal_id DESC
LIMIT {limit:UInt64}
