SELECT
    proposal_ref,
    toUInt64(sum(casts) - count()) AS recasts,
    countIf(changed) AS side_changes
FROM
(
    SELECT
        proposal_ref,
        voter,
        count() AS casts,
        min(raw_choice) != max(raw_choice) AS changed
    FROM ballots FINAL
    WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals) AND NOT withdrawn
    GROUP BY
        proposal_ref,
        voter
)
GROUP BY proposal_ref
