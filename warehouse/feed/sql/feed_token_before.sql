-- The powers before some blocks: of the delegates of whom one is stated in them, and the first others.
SELECT
    delegate,
    power
FROM
(
    SELECT
        delegate,
        power,
        changes,
        row_number() OVER (PARTITION BY changes ORDER BY power DESC, delegate) AS rank
    FROM
    (
        SELECT
            delegate,
            argMaxIf(power, place, block < {first:UInt64}) AS power,
            max(block) >= {first:UInt64} AS changes
        FROM delegate_power FINAL
        WHERE scope = {scope:String}
            AND NOT withdrawn
            AND block < {end:UInt64}
        GROUP BY delegate
    )
    WHERE power > 0
)
WHERE changes OR rank <= {others:UInt64}
ORDER BY delegate
