-- What says which DAO uses a token or a space, and what is held of it.
SELECT
    'token' AS about,
    dao_id,
    '' AS provider,
    '' AS source_id,
    arrayJoin(tokens) AS scope
FROM daos FINAL

UNION ALL

-- A DAO has its sources before they have proposals.
SELECT
    'source',
    min(dao_id),
    provider,
    source_id,
    ''
FROM
(
    SELECT
        dao_id,
        arrayJoin(arrayZip(source_providers, arrayResize(source_ids, length(source_providers)))) AS source,
        source.1 AS provider,
        source.2 AS source_id
    FROM daos FINAL
)
GROUP BY
    provider,
    source_id

UNION ALL

SELECT
    'unclaimed source',
    min(dao_id),
    toString(provider),
    toString(source_id),
    ''
FROM proposal_states FINAL
WHERE dao_id != ''
GROUP BY
    provider,
    source_id

UNION ALL

SELECT
    'source token',
    '',
    toString(provider),
    source_id,
    token
FROM sources FINAL
WHERE token != ''

UNION ALL

SELECT
    'delegations',
    '',
    '',
    '',
    toString(scope)
FROM delegations
GROUP BY scope
