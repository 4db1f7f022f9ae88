CREATE OR REPLACE VIEW $views.events
(
    event_id String COMMENT 'Id of the event.',
    event_type LowCardinality(String) COMMENT 'What happened; docs/rules.md lists the types.',
    event_time_ms DateTime64(3, 'UTC') COMMENT 'When it happened, as exactly as event_time_confidence says.',
    event_time_confidence LowCardinality(String) COMMENT 'exact, day, derived or discovered.',
    discovered_at DateTime64(3, 'UTC') COMMENT 'When it was first seen here.',
    dao_id LowCardinality(String) COMMENT 'The DAO.',
    item_type LowCardinality(String) COMMENT 'What it is about: proposal, topic or dao.',
    proposal_key Nullable(String) COMMENT 'The proposal; NULL for other items.',
    title Nullable(String) COMMENT 'Title of the item.',
    url Nullable(String) COMMENT 'Page of the item.',
    importance_score UInt8 COMMENT 'Importance, 0 to 100.'
)
DEFINER = CURRENT_USER SQL SECURITY DEFINER
COMMENT 'What happened, one row an event. As /v2/events.'
AS
SELECT
    event_id,
    event_type,
    at AS event_time_ms,
    confidence AS event_time_confidence,
    discovered_at,
    dao_id,
    item_type,
    nullIf(proposal_key, '') AS proposal_key,
    nullIf(title, '') AS title,
    nullIf(url, '') AS url,
    importance AS importance_score
FROM $data.feed_events FINAL
WHERE basis = 'eventTime' AND at <= now64(3);
