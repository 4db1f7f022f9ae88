-- What each choice had received when each window (milliseconds before the end of voting)
-- began. The first choice of a ballot gets all of its power here, unless the ballot is
-- divided: then each choice gets its share, and the ballot is counted at its largest. What
-- invalid ballots give belongs to no choice. One
-- thread: no caller waits for this query.
SELECT
    ballot.proposal_ref AS proposal_ref,
    if(%s, '', ballot.part.1) AS supported,
    sumForEach(arrayMap(window -> toUInt64(ballot.part.1 = ballot.choice_key AND ballot.at < wanted.end_ms - window), {windows:Array(Int64)})) AS votes,
    sumForEach(
        arrayMap(
            window -> if(ballot.at < wanted.end_ms - window, ballot.part.2, toDecimal256(0, 18)),
            {windows:Array(Int64)}
        )
    ) AS powers,
    max(ballot.part.2) AS largest,
    argMax(ballot.voter, (ballot.part.2, ballot.voter)) AS largest_voter
FROM
(
    SELECT
        proposal_ref,
        choice_key,
        choices,
        shares,
        raw_choice,
        arrayJoin(
            if(
                empty(shares),
                [(toString(choice_key), power)],
                arrayMap((key, share) -> (toString(key), share), choices, shares)
            )
        ) AS part,
        voter,
        ifNull(toUnixTimestamp64Milli(voted_at), 0) AS at
    FROM latest_ballots
    WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_votes)
) AS ballot
GLOBAL INNER JOIN wanted_votes AS wanted ON ballot.proposal_ref = wanted.proposal_ref
GROUP BY
    proposal_ref,
    supported
ORDER BY
    proposal_ref,
    supported
SETTINGS max_threads = 1
