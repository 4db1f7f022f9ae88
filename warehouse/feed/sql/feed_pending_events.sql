SELECT
    sipHash128('event', event.event_id) AS item,
    event.event_id AS event_id,
    event.event_type AS event_type,
    event.event_time AS event_time,
    event.owner AS dao_id,
    event.title AS title,
    event.url AS url,
    event.item_type AS item_type,
    event.provider AS provider,
    event.external_id AS external_id,
    event.confidence AS confidence,
    event.importance AS importance,
    event.discovered_at AS discovered_at,
    event.version AS revision
FROM
(
    -- Without a DAO, if the proposal that it is about is withdrawn: it is not shown, and
    -- pending again once the proposal is back.
    SELECT
        event_id,
        event_type,
        event_time,
        if(
            provider != '' AND toFixedString(substring(SHA256(concat(provider, char(0), external_id)), 1, 16), 16)
                GLOBAL IN (SELECT proposal_ref FROM proposal_states FINAL WHERE dao_id = '' OR flagged),
            '', dao_id
        ) AS owner,
        title,
        url,
        item_type,
        provider,
        external_id,
        confidence,
        importance,
        discovered_at,
        version
    FROM events FINAL
) AS event
GLOBAL LEFT JOIN
(
    SELECT
        item,
        dao_id,
        rules_version,
        revision
    FROM feed_progress FINAL
) AS done ON sipHash128('event', event.event_id) = done.item
WHERE done.revision < event.version OR done.dao_id != event.owner OR done.rules_version != {rules_version:UInt64}
ORDER BY event.event_id
LIMIT {limit:UInt64}
