-- Who cast the largest ballots. Superseded ones do no harm: the voters are ranked by what counts.
SELECT DISTINCT arrayJoin(groupArraySorted(10)((-power, voter))).2
FROM ballots
WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_lists)
GROUP BY proposal_ref
