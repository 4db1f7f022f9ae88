SELECT count() > 0
FROM batches FINAL
WHERE (sealed = 0 OR changed_at > fromUnixTimestamp64Micro({since:Int64}))
    AND arrayExists(
        proposal -> proposal GLOBAL IN (
            SELECT proposal_ref FROM wanted_proposals
            UNION ALL
            SELECT proposal_ref FROM proposals
            WHERE (provider, source_id) IN (SELECT arrayJoin(arrayZip({providers:Array(String)}, {ids:Array(String)})))
        ),
        proposals
    )
