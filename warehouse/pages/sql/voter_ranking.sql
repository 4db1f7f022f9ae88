SELECT
    -total AS descending,
    voter,
    row_number() OVER (ORDER BY descending, voter) AS rank,
    votes
FROM
(
    SELECT
        voter,
        sum(power) AS total,
        count() AS votes
    FROM latest_ballots
    WHERE proposal_ref GLOBAL IN (SELECT proposal_ref FROM proposal_states FINAL WHERE dao_id = {dao:String} AND NOT flagged)
    GROUP BY voter
)
