WITH wanted AS (SELECT proposal_ref FROM wanted_proposals)
SELECT
    names_voters,
    arrayFilter((voter, proposal) -> proposal IN wanted, ballot_voters, ballot_proposals) AS ballot_voters
FROM batches FINAL
WHERE arrayExists(proposal -> proposal IN wanted, proposals)
    AND (sealed = 0 OR changed_at >= fromUnixTimestamp64Micro({since:Int64}))
