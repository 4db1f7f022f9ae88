SELECT
    names_voters,
    arrayFilter((voter, proposal) -> proposal = unhex({ref:String}), ballot_voters, ballot_proposals) AS ballot_voters
FROM batches FINAL
WHERE has(proposals, toFixedString(unhex({ref:String}), 16))
    AND (sealed = 0 OR changed_at >= fromUnixTimestamp64Micro({since:Int64}))
