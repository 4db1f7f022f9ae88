-- The powers after each block in which they are stated.
SELECT
    block,
    delegate,
    argMax(power, place) AS power,
    max(at) AS at,
    max(discovered_at) AS discovered_at
FROM delegate_power FINAL
WHERE scope = {scope:String}
    AND NOT withdrawn
    AND block >= {first:UInt64}
    AND block < {end:UInt64}
GROUP BY
    block,
    delegate
ORDER BY
    block,
    delegate
