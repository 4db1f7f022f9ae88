CREATE OR REPLACE VIEW $views.signals
(
    signal_id String COMMENT 'Id of the signal.',
    signal_type LowCardinality(String) COMMENT 'What deserves attention; docs/rules.md lists the types.',
    priority_score UInt8 COMMENT 'Priority, 0 to 100.',
    severity LowCardinality(String) COMMENT 'info, warning or critical.',
    actionability LowCardinality(String) COMMENT 'What a reader can do; expired once the deadline has passed.',
    surfaces Array(LowCardinality(String)) COMMENT 'Where it is delivered: agent, atlas_latest, atlas_priority, telegram_realtime.',
    detected_at DateTime64(3, 'UTC') COMMENT 'When it was detected.',
    deadline_at_ms Nullable(DateTime64(3, 'UTC')) COMMENT 'Until when one can act.',
    dao_id LowCardinality(String) COMMENT 'The DAO.',
    proposal_key Nullable(String) COMMENT 'The proposal; NULL for other subjects.',
    title String COMMENT 'Title; /v2/signals adds names of the DAO and voters.',
    summary String COMMENT 'A sentence or two; likewise.',
    source_url Nullable(String) COMMENT 'The page it is about.',
    evidence String COMMENT 'The figures it follows from, a JSON object.'
)
DEFINER = CURRENT_USER SQL SECURITY DEFINER
COMMENT 'What deserves attention, one row a signal. As /v2/signals.'
AS
SELECT
    signal_id,
    signal_type,
    score AS priority_score,
    severity,
    if(ifNull(deadline_at <= now64(3), false), 'expired', actionability) AS actionability,
    surfaces,
    detected_at,
    deadline_at AS deadline_at_ms,
    dao_id,
    nullIf(proposal_key, '') AS proposal_key,
    title,
    summary,
    nullIf(source_url, '') AS source_url,
    evidence
FROM $data.feed_signals FINAL
WHERE detected_at <= now64(3);
