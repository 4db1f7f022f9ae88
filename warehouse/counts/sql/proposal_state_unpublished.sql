SELECT count()
FROM
(
    SELECT arrayJoin(proposals) AS proposal_ref, max(changed_at) AS committed_at
    FROM batches FINAL
    WHERE sealed = 1
    GROUP BY proposal_ref
) AS committed
LEFT JOIN (SELECT proposal_ref, revision FROM proposal_states FINAL) AS published
    ON committed.proposal_ref = published.proposal_ref
WHERE toUnixTimestamp64Micro(committed_at) > published.revision
    AND proposal_ref GLOBAL IN (SELECT proposal_ref FROM proposals)
