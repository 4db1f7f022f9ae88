SELECT
    dao_id,
    groupUniqArrayIf(id, is_event) AS event_ids,
    groupUniqArrayIf(id, NOT is_event) AS signal_ids
FROM
(
    SELECT
        toString(dao_id) AS dao_id,
        event_id AS id,
        true AS is_event
    FROM feed_events
    WHERE revision > {revision:UInt64} AND ({dao:String} = '' OR feed_events.dao_id = {dao:String})

    UNION ALL

    SELECT
        toString(dao_id),
        signal_id,
        false
    FROM feed_signals
    WHERE revision > {revision:UInt64} AND ({dao:String} = '' OR feed_signals.dao_id = {dao:String})
)
GROUP BY dao_id
ORDER BY dao_id
