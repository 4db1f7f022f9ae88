CREATE OR REPLACE VIEW $views.dao_scopes
(
    dao_id String COMMENT 'The DAO.',
    scope String COMMENT 'A token that it uses, or a space of a registry, as in delegations, delegate_power and token_supply.'
)
DEFINER = CURRENT_USER SQL SECURITY DEFINER
COMMENT 'Which DAO uses which tokens and spaces of registries.'
AS
WITH
    claimed AS
    (
        SELECT
            dao_id,
            arrayJoin(arrayZip(source_providers, arrayResize(source_ids, length(source_providers)))) AS source
        FROM $data.daos FINAL
    ),
    owners AS
    (
        SELECT
            min(dao_id) AS dao_id,
            source.1 AS provider,
            source.2 AS source_id
        FROM claimed
        GROUP BY source

        UNION ALL

        SELECT DISTINCT
            dao_id,
            toString(provider) AS provider,
            toString(source_id) AS source_id
        FROM $data.proposal_states FINAL
        WHERE dao_id != '' AND (toString(provider), toString(source_id)) GLOBAL NOT IN (SELECT source.1, source.2 FROM claimed)
    )
SELECT DISTINCT
    dao_id,
    scope
FROM
(
    SELECT
        dao_id,
        arrayJoin(tokens) AS scope
    FROM $data.daos FINAL

    UNION ALL

    SELECT
        owners.dao_id AS dao_id,
        source.token AS scope
    FROM
    (
        SELECT
            toString(provider) AS provider,
            source_id,
            token
        FROM $data.sources FINAL
        WHERE token != ''
    ) AS source
    INNER JOIN owners ON source.provider = owners.provider AND source.source_id = owners.source_id

    UNION ALL

    SELECT
        owners.dao_id AS dao_id,
        held.scope AS scope
    FROM
    (
        SELECT DISTINCT
            toString(scope) AS scope,
            substring(scope, position(scope, '/') + 1) AS space
        FROM $data.delegations
        WHERE position(scope, '/') > 0
    ) AS held
    INNER JOIN owners ON owners.provider = 'snapshot' AND held.space = owners.source_id
);
