SELECT
    record.proposal_ref AS proposal_ref,
    title,
    proposer_id,
    payload
FROM
(
    SELECT
        proposal_ref,
        title,
        proposer_id
    FROM proposals FINAL
    WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
) AS record
LEFT JOIN
(
    SELECT
        proposal_ref,
        cityHash64(arraySort(groupArray((chain, target, value, signature, calldata, delegate)))) AS payload
    FROM actions FINAL
    WHERE NOT withdrawn AND proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
    GROUP BY proposal_ref
) AS called ON record.proposal_ref = called.proposal_ref
SETTINGS max_threads = 1
