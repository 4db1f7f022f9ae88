-- Without FINAL: a source that was published under another DAO before may be named for that one, too.
SELECT DISTINCT
    dao_id,
    provider,
    source_id
FROM proposal_states
WHERE dao_id != ''
ORDER BY dao_id, provider, source_id
