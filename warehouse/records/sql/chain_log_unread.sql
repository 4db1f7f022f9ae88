SELECT
    governor,
    proposal_id,
    if(proposal_id = '', topics[1], '') AS topic,
    count() AS logs
FROM chain_logs FINAL
WHERE chain_id = ?
    AND NOT withdrawn
    AND NOT startsWith(proposal_id, '0x')
    AND NOT (proposal_id = '' AND topics[1] IN (?))
GROUP BY
    governor,
    proposal_id,
    topic
HAVING proposal_id = '' OR countIf(topics[1] IN (?)) = 0
ORDER BY
    governor,
    proposal_id,
    topic
