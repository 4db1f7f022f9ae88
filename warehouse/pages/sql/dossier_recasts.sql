SELECT
    proposal_ref,
    toUInt64(sum(casts) - count()) AS recasts,
    countIf(sides > 1) AS side_changes
FROM
(
    SELECT
        proposal_ref,
        voter,
        count() AS casts,
        uniqExact(raw_choice) AS sides
    FROM ballots FINAL
    WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals) AND NOT withdrawn
    GROUP BY
        proposal_ref,
        voter
)
GROUP BY proposal_ref
