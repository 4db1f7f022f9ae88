CREATE OR REPLACE VIEW $views.token_supply
(
    scope String COMMENT 'The token, eip155:<chain>:<address>; dao_scopes has its DAO.',
    supply Decimal(76, 18) COMMENT 'The supply as of this block, in whole tokens; exact.',
    block_number UInt64 COMMENT 'The block.',
    stated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'The time of the block; NULL if unknown.',
    is_current Bool COMMENT 'No later row replaces it.'
)
DEFINER = CURRENT_USER SQL SECURITY DEFINER
COMMENT 'The supply of tokens, one row a change that was seen.'
AS
SELECT
    scope,
    supply,
    block AS block_number,
    at AS stated_at,
    place = max(place) OVER (PARTITION BY scope) AS is_current
FROM
(
    SELECT
        toString(scope) AS scope,
        place,
        supply,
        block,
        at,
        withdrawn
    FROM $data.token_supply
    WHERE version < (SELECT ifNull(minOrNull(first_version), toUInt64(-1)) FROM $data.batches FINAL WHERE sealed = 0)
    ORDER BY
        scope,
        place,
        version DESC
    LIMIT 1 BY scope, place
)
WHERE NOT withdrawn;
