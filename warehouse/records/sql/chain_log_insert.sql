INSERT INTO chain_logs
(
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
    withdrawn,
    version
)
