SELECT
    toUInt64(sum(casts) - count()) AS recasts,
    countIf(sides > 1) AS side_changes
FROM
(
    SELECT
        voter,
        count() AS casts,
        uniqExact(raw_choice) AS sides
    FROM ballots FINAL
    WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals) AND NOT withdrawn
    GROUP BY voter
)
