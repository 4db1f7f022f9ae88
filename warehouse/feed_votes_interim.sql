-- What each choice had received when each window (milliseconds before the end of voting)
-- began. The first choice of a ballot gets all of its power here. One thread: no caller
-- waits for this query.
SELECT
    ballot.proposal_ref AS proposal_ref,
    ballot.choice AS choice,
    sumForEach(arrayMap(window -> toUInt64(ballot.at < wanted.end_ms - window), {windows:Array(Int64)})) AS votes,
    sumForEach(
        arrayMap(
            window -> if(ballot.at < wanted.end_ms - window, ballot.power, toDecimal256(0, 18)),
            {windows:Array(Int64)}
        )
    ) AS powers,
    max(ballot.power) AS largest,
    argMax(ballot.voter, (ballot.power, ballot.voter)) AS largest_voter
FROM
(
    SELECT
        proposal_ref,
        toString(choice_key) AS choice,
        voter,
        power,
        ifNull(toUnixTimestamp64Milli(voted_at), 0) AS at
    FROM latest_ballots
    WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_votes)
) AS ballot
GLOBAL INNER JOIN wanted_votes AS wanted ON ballot.proposal_ref = wanted.proposal_ref
GROUP BY
    proposal_ref,
    choice
ORDER BY
    proposal_ref,
    choice
SETTINGS max_threads = 1
