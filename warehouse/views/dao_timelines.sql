CREATE OR REPLACE VIEW $views.dao_timelines
(
    dao_id String COMMENT 'The DAO.',
    metric String COMMENT 'votes_cast or proposals_created.',
    month String COMMENT 'The month in UTC, as 2026-01.',
    value UInt64 COMMENT 'How many in that month.'
)
SQL SECURITY INVOKER
COMMENT 'Ballots cast and proposals created by month, without empty months. As /v2/daos/:daoId/timeline.'
AS
SELECT
    dao_id,
    'votes_cast' AS metric,
    formatDateTime(toStartOfMonth(assumeNotNull(voted_at)), '%Y-%m') AS month,
    count() AS value
FROM $views.ballots
WHERE voted_at IS NOT NULL
GROUP BY
    dao_id,
    month

UNION ALL

SELECT
    dao_id,
    'proposals_created' AS metric,
    formatDateTime(toStartOfMonth(assumeNotNull(created_at)), '%Y-%m') AS month,
    count() AS value
FROM $data.proposal_states FINAL
WHERE created_at IS NOT NULL
    AND dao_id != ''
GROUP BY
    dao_id,
    month;
