-- The supplies in some blocks, and the last one before them.
SELECT
    block,
    argMax(supply, place) AS supply
FROM token_supply FINAL
WHERE scope = {scope:String}
    AND NOT withdrawn
    AND block < {end:UInt64}
    AND block >= (
        SELECT max(block)
        FROM token_supply FINAL
        WHERE scope = {scope:String}
            AND NOT withdrawn
            AND block < {first:UInt64}
    )
GROUP BY block
ORDER BY block
