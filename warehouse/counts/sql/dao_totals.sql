SELECT
    dao_id,
    count() AS total,
    countIf(lifecycle = 'active') AS active,
    countIf(lifecycle = 'pending') AS pending,
    countIf(lifecycle = 'closed') AS closed,
    countIf(outcome = 'passed') AS passed,
    countIf(outcome = 'failed') AS failed,
    countIf(outcome = 'executed') AS executed,
    countIf(outcome = 'canceled') AS canceled,
    countIf(outcome = 'unknown') AS unknown,
    sum(votes) AS total_votes,
    sum(power) AS total_power,
    -- Votes are expected on started proposals: how many have vote numbers, and how many
    -- have every ballot that upstream has.
    countIf(lifecycle != 'pending') AS started,
    countIf(lifecycle != 'pending' AND coverage != 'unavailable') AS ready,
    countIf(lifecycle != 'pending' AND coverage = 'complete') AS covered,
    max(created_at) AS latest_created_at,
    max(last_voted_at) AS latest_voted_at,
    (sumMapIf([toYYYYMM(assumeNotNull(created_at))], [toUInt64(1)], created_at IS NOT NULL) AS created_in).1 AS created_months,
    created_in.2 AS created_counts,
    (sumMap(vote_months, vote_counts) AS voted_in).1 AS voted_months,
    voted_in.2 AS voted_counts,
    countIf(created_at IS NULL) AS uncreated,
    sum(undated_votes) AS undated
FROM %s
-- Spam counts in no total.
WHERE NOT flagged
GROUP BY dao_id
ORDER BY dao_id
