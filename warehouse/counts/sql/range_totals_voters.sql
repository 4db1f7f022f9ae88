-- Who voted on what, by the rule of dao_participation.sql, for some ranges of voters. They are
-- read by voter or by proposal, whichever takes fewer granules.
SELECT
    place,
    uniqExact(voter) AS unique_voters,
    count() AS votes
FROM
(
    SELECT
        voter,
        proposal_ref,
        %s
    FROM
    (
        SELECT
            voter,
            proposal_ref,
            argMax(withdrawn, version) AS gone
        FROM ballots
        WHERE (%s)
            AND proposal_ref GLOBAL IN
            (
                SELECT proposal_ref
                FROM proposal_states FINAL
                WHERE dao_id = {dao:String} AND NOT flagged
            )
        GROUP BY
            voter,
            proposal_ref,
            vote_id
    )
    GROUP BY
        voter,
        proposal_ref
    HAVING NOT min(gone)
)
GROUP BY place
