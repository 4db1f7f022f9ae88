-- Without FINAL, a source whose proposals were published under another DAO before may be named for that one, too.
SELECT DISTINCT
    dao_id,
    toString(provider) AS provider,
    toString(source_id) AS source_id
FROM proposal_states
WHERE dao_id != ''

UNION ALL

SELECT DISTINCT
    dao_id,
    'discourse',
    host
FROM topic_states FINAL
WHERE dao_id != ''
