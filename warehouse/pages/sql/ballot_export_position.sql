SELECT
    toString(power) AS text,
    voter
FROM sorted_ballots
WHERE generation = {generation:UInt64}
ORDER BY
    generation DESC,
    power DESC,
    voter DESC
LIMIT 1 OFFSET {before:UInt64}
SETTINGS max_threads = 1, optimize_use_projections = 0
