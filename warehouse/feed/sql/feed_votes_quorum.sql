-- The ballot with which the counted power reached the quorum, in order of time.
SELECT
    proposal_ref,
    assumeNotNull(voted_at) AS reached_at,
    voted_day_only AS day_only,
    discovered_at
FROM
(
    SELECT
        ballot.proposal_ref AS proposal_ref,
        ballot.voted_at AS voted_at,
        ballot.voted_day_only AS voted_day_only,
        ballot.discovered_at AS discovered_at,
        multiIf(
            empty(wanted.quorum_choices), ballot.power,
            %s, toDecimal256(0, 18),
            notEmpty(ballot.shares), arraySum(arrayFilter((share, key) -> has(wanted.quorum_choices, key), ballot.shares, ballot.choices)),
            has(wanted.quorum_choices, ballot.choice_key), ballot.power,
            toDecimal256(0, 18)
        ) AS counted,
        sum(counted) OVER (
            PARTITION BY ballot.proposal_ref
            ORDER BY ballot.voted_at, ballot.voter
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS running,
        toDecimal256(wanted.quorum, 18) AS quorum
    FROM
    (
        SELECT
            proposal_ref,
            voter,
            voted_at,
            voted_day_only,
            discovered_at,
            choice_key,
            choices,
            shares,
            raw_choice,
            power
        FROM latest_ballots
        WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_votes)
            AND voted_at IS NOT NULL
    ) AS ballot
    GLOBAL INNER JOIN wanted_votes AS wanted ON ballot.proposal_ref = wanted.proposal_ref
)
WHERE running >= quorum AND running - counted < quorum
ORDER BY proposal_ref
LIMIT 1 BY proposal_ref
