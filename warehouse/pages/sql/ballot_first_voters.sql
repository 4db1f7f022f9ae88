-- The voters of the first rows, superseded and withdrawn ballots included. Reads the columns of the
-- order alone and merges nothing.
SELECT
    voter,
    toString(%[2]s) AS text
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
