CREATE OR REPLACE VIEW $views.delegate_power
(
    scope String COMMENT 'The token, eip155:<chain>:<address>; dao_scopes has its DAO.',
    delegate_identity String COMMENT 'The delegate.',
    voting_power Decimal(76, 18) COMMENT 'The power from this block on, in whole tokens, as the token states it; exact.',
    block_number UInt64 COMMENT 'The block of the statement.',
    stated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'The time of the block; NULL if unknown.',
    is_current Bool COMMENT 'No later statement replaces it.'
)
DEFINER = CURRENT_USER SQL SECURITY DEFINER
COMMENT 'The power of delegates, one row a change.'
AS
SELECT
    scope,
    delegate AS delegate_identity,
    power AS voting_power,
    block AS block_number,
    at AS stated_at,
    is_current
FROM
(
    SELECT
        *,
        -- The power of the zero address after a block's logs says that older ones are not known any more.
        delegate = '0x0000000000000000000000000000000000000000' AND substring(place, 9, 4) = '\xff\xff\xff\xff' AS asked,
        place = max(place) OVER (PARTITION BY scope, delegate)
            AND (power = 0 OR block >= maxIf(block, asked) OVER (PARTITION BY scope)) AS is_current
    FROM
    (
        SELECT
            toString(scope) AS scope,
            delegate,
            place,
            power,
            block,
            at,
            withdrawn
        FROM $data.delegate_power
        WHERE version < (SELECT ifNull(minOrNull(first_version), toUInt64(-1)) FROM $data.batches FINAL WHERE sealed = 0)
        ORDER BY
            scope,
            delegate,
            place,
            version DESC
        LIMIT 1 BY scope, delegate, place
    )
    WHERE NOT withdrawn
)
WHERE NOT asked;
