-- How each vote stood some spans (milliseconds) before its end, by choice. All of a
-- ballot's power goes to its first choice here. On one thread: nobody
-- waits for it.
SELECT
    ballot.proposal_ref AS proposal_ref,
    ballot.choice AS choice,
    sumForEach(arrayMap(span -> toUInt64(ballot.at < wanted.end_ms - span), {spans:Array(Int64)})) AS votes,
    sumForEach(
        arrayMap(
            span -> if(ballot.at < wanted.end_ms - span, ballot.power, toDecimal256(0, 18)),
            {spans:Array(Int64)}
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
