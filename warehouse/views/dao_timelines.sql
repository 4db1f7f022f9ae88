CREATE OR REPLACE VIEW $views.dao_timelines
(
    dao_id String COMMENT 'The DAO.',
    metric String COMMENT 'votes_cast or proposals_created.',
    month String COMMENT 'The month in UTC, as 2026-01; undated for what is in no month as far as is known.',
    value UInt64 COMMENT 'How many in that month.'
)
SQL SECURITY INVOKER
COMMENT 'Ballots cast and proposals created by month, without empty months. As /v2/daos/:daoId/timeline.'
AS
SELECT
    dao_id,
    metric,
    if(number = 0, 'undated', concat(toString(intDiv(number, 100)), '-', leftPad(toString(number % 100), 2, '0'))) AS month,
    sum(counted) AS value
FROM
(
    SELECT
        dao_id,
        'votes_cast' AS metric,
        arrayPushBack(vote_months, toUInt32(0)) AS numbers,
        arrayPushBack(arrayResize(vote_counts, length(vote_months)), undated_votes) AS counts
    FROM $data.proposal_states FINAL
    WHERE dao_id != ''
        AND NOT flagged

    UNION ALL

    SELECT
        dao_id,
        'proposals_created' AS metric,
        [ifNull(toYYYYMM(created_at), 0)] AS numbers,
        [toUInt64(1)] AS counts
    FROM $data.proposal_states FINAL
    WHERE dao_id != ''
        AND NOT flagged
)
ARRAY JOIN
    numbers AS number,
    counts AS counted
WHERE counted > 0
GROUP BY
    dao_id,
    metric,
    month;
