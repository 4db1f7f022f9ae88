SELECT
    proposal_ref,
    position,
    chain,
    executor,
    target,
    value,
    signature,
    calldata,
    delegate,
    block,
    tx_hash,
    log_index
FROM actions FINAL
PREWHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
WHERE NOT withdrawn
ORDER BY
    proposal_ref,
    position
