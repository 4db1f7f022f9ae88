-- The tokens of which some imports wrote powers or supplies from a version on, with the first block.
SELECT
    scope,
    min(block) AS block
FROM
(
    SELECT
        toString(scope) AS scope,
        block
    FROM delegate_power
    WHERE version >= {first:UInt64} AND import_id IN {imports:Array(UUID)}

    UNION ALL

    SELECT
        toString(scope),
        block
    FROM token_supply
    WHERE version >= {first:UInt64} AND import_id IN {imports:Array(UUID)}
)
GROUP BY scope
