SELECT
    proposal_ref,
    cityHash64(arraySort(groupArray((chain, target, value, signature, calldata, delegate)))) AS payload
FROM actions FINAL
WHERE NOT withdrawn AND proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
GROUP BY proposal_ref
SETTINGS max_threads = 1
