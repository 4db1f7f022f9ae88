-- Whose rows come first, superseded ones included: nothing is merged, and nothing but
-- the order is read.
SELECT
    voter,
    toString(%[2]s) AS position
FROM
(
    SELECT
        voter,
        %[1]s AS place
    FROM ballots
    WHERE proposal_ref = unhex({ref:String})
)
ORDER BY
    place DESC,
    voter DESC
LIMIT {most:UInt64}
