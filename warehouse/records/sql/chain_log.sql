SELECT
    chain_id,
    governor,
    proposal_id,
    voter,
    block_number,
    block_hash,
    log_index,
    address,
    tx_hash,
    block_at,
    topics,
    data,
    withdrawn
FROM chain_logs FINAL
WHERE chain_id = ? AND %s
ORDER BY
    block_number,
    log_index
