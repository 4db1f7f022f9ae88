SELECT
    count() AS votes,
    sum(power) AS power
FROM sorted_ballots
WHERE generation = {generation:UInt64}
