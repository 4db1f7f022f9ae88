CREATE OR REPLACE VIEW $views.delegations
(
    scope String COMMENT 'The token, eip155:<chain>:<address>, or the space of a registry, eip155:<chain>:<address>/<space>; dao_scopes has its DAO.',
    delegator_identity String COMMENT 'The holder.',
    delegate_identity Nullable(String) COMMENT 'Who votes for the holder; NULL where the delegation ends.',
    share Nullable(Decimal(19, 18)) COMMENT 'The part that is delegated, 1 for everything; NULL where the delegation ends.',
    block_number UInt64 COMMENT 'The block of the statement.',
    stated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'The time of the block; NULL if unknown.',
    is_current Bool COMMENT 'No later statement of the holder replaces it.'
)
DEFINER = CURRENT_USER SQL SECURITY DEFINER
COMMENT 'What holders stated of their delegates, one row a statement and delegate.'
AS
SELECT
    scope,
    delegator AS delegator_identity,
    nullIf(part.1, '') AS delegate_identity,
    if(part.1 = '', NULL, toNullable(part.2)) AS share,
    block AS block_number,
    at AS stated_at,
    place = max(place) OVER (PARTITION BY scope, delegator) AS is_current
FROM
(
    SELECT
        toString(scope) AS scope,
        delegator,
        place,
        block,
        at,
        multiIf(
            empty(delegates), [('', toDecimal128(0, 18))],
            empty(shares), [(delegates[1], toDecimal128(1, 18))],
            arrayZip(delegates, arrayMap(share -> toDecimal128(share, 18), shares))
        ) AS parts,
        withdrawn
    FROM $data.delegations
    WHERE version < (SELECT ifNull(minOrNull(first_version), toUInt64(-1)) FROM $data.batches FINAL WHERE sealed = 0)
    ORDER BY
        scope,
        delegator,
        place,
        version DESC
    LIMIT 1 BY scope, delegator, place
)
ARRAY JOIN parts AS part
WHERE NOT withdrawn;
