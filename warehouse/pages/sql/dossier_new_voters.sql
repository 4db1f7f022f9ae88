-- The voters of proposals who voted on none that ended before these began.
SELECT
    began.proposal_ref AS proposal_ref,
    count() AS voters
FROM
(
    SELECT
        ballot.proposal_ref AS proposal_ref,
        voter,
        dao_id,
        moment AS start_at
    FROM
    (
        SELECT
            proposal_ref,
            voter
        FROM latest_ballots
        WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_moments WHERE begins)
    ) AS ballot
    INNER JOIN (SELECT * FROM wanted_moments WHERE begins) AS moments ON ballot.proposal_ref = moments.proposal_ref
) AS began
LEFT JOIN
(
    SELECT
        dao_id,
        voter,
        min(moment) AS end_at
    FROM
    (
%s
    ) AS ballot
    INNER JOIN (SELECT * FROM wanted_moments WHERE NOT begins) AS moments ON ballot.proposal_ref = moments.proposal_ref
    GROUP BY
        dao_id,
        voter
) AS ended ON began.dao_id = ended.dao_id AND began.voter = ended.voter
WHERE ended.voter = '' OR ended.end_at >= began.start_at
GROUP BY proposal_ref
SETTINGS max_threads = 1
