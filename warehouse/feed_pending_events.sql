SELECT
    sipHash128('event', event.event_id) AS item,
    event.event_id AS event_id,
    event.event_type AS event_type,
    event.event_time AS event_time,
    event.dao_id AS dao_id,
    event.title AS title,
    event.url AS url,
    event.item_type AS item_type,
    event.provider AS provider,
    event.external_id AS external_id,
    event.confidence AS confidence,
    event.importance AS importance,
    event.discovered_at AS discovered_at,
    event.version AS revision
FROM (SELECT event_id, event_type, event_time, dao_id, title, url, item_type, provider, external_id, confidence, importance, discovered_at, version FROM events FINAL) AS event
GLOBAL LEFT JOIN
(
    SELECT
        item,
        rules_version,
        revision
    FROM feed_progress FINAL
) AS done ON sipHash128('event', event.event_id) = done.item
WHERE done.revision < event.version OR done.rules_version != {rules_version:UInt64}
ORDER BY event.event_id
LIMIT {limit:UInt64}
