CREATE OR REPLACE VIEW $views.dao_scopes
(
    dao_id String COMMENT 'The DAO.',
    scope String COMMENT 'A token that it uses, or a space of a registry, as in delegations, delegate_power and token_supply.'
)
DEFINER = CURRENT_USER SQL SECURITY DEFINER
COMMENT 'Which DAO uses which tokens and spaces of registries.'
AS
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
        state.dao_id AS dao_id,
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
    INNER JOIN
    (
        SELECT DISTINCT
            dao_id,
            toString(provider) AS provider,
            toString(source_id) AS source_id
        FROM $data.proposal_states FINAL
        WHERE dao_id != ''
    ) AS state ON source.provider = state.provider AND source.source_id = state.source_id

    UNION ALL

    SELECT
        state.dao_id AS dao_id,
        held.scope AS scope
    FROM
    (
        SELECT DISTINCT
            toString(scope) AS scope,
            substring(scope, position(scope, '/') + 1) AS space
        FROM $data.delegations
        WHERE position(scope, '/') > 0
    ) AS held
    INNER JOIN
    (
        SELECT DISTINCT
            dao_id,
            toString(source_id) AS source_id
        FROM $data.proposal_states FINAL
        WHERE dao_id != '' AND provider = 'snapshot'
    ) AS state ON held.space = state.source_id
);
