-- The voters of proposals who voted on one that ended before these began. One pass serves both
-- sides: a voter's first end of a vote in a DAO, and the beginnings of the votes with a ballot. Only who has withdrawn a
-- ballot may have none left. identity keeps the voters out of the search of the index, which takes longer than reading.
WITH
    doubtful AS
    (
        SELECT
            proposal_ref,
            voter
        FROM ballots
        WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_moments) AND withdrawn
    )
SELECT
    began.1 AS proposal_ref,
    count() AS voters
FROM
(
    SELECT
        arrayJoin(groupUniqArrayIf((proposal_ref, moment), begins)) AS began,
        minOrNullIf(moment, NOT begins) AS end_at
    FROM
    (
        SELECT
            proposal_ref,
            voter
        FROM ballots
        WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_moments)
            AND identity(voter) GLOBAL IN (
                SELECT voter
                FROM ballots
                WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_moments WHERE begins = {fewer:Bool})
            )
            AND (proposal_ref, voter) GLOBAL NOT IN (SELECT proposal_ref, voter FROM doubtful)

        UNION ALL

        SELECT
            proposal_ref,
            voter
        FROM ballots FINAL
        WHERE (proposal_ref, voter) GLOBAL IN (SELECT proposal_ref, voter FROM doubtful) AND NOT withdrawn
    ) AS ballot
    INNER JOIN wanted_moments ON ballot.proposal_ref = wanted_moments.proposal_ref
    GROUP BY
        dao_id,
        voter
)
WHERE end_at < began.2
GROUP BY proposal_ref
SETTINGS max_threads = 1
