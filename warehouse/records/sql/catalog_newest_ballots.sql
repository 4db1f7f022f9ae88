-- What is dated in the future is not there yet.
SELECT
    provider,
    source_id,
    maxIf(last_voted_at, last_voted_at <= now64(3)) AS newest_ballot_at
FROM proposal_states FINAL
WHERE dao_id != ''
GROUP BY
    provider,
    source_id
ORDER BY
    provider,
    source_id
