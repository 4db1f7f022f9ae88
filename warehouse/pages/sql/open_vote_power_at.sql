-- The power of a delegate at some times, by token, without tokens whose power changes without a log: see
-- delegate_now.
SELECT
    scope,
    start,
    argMax(power, place) AS power
FROM
(
    SELECT
        toString(scope) AS scope,
        place,
        power,
        at
    FROM delegate_power FINAL
    WHERE delegate = {voter:String}
        AND NOT withdrawn
        AND scope IN {scopes:Array(String)}
        AND scope GLOBAL NOT IN (
            SELECT scope
            FROM delegate_power
            WHERE delegate = '0x0000000000000000000000000000000000000000'
                AND substring(place, 9, 4) = '\xff\xff\xff\xff'
        )
)
ARRAY JOIN
    {scopes:Array(String)} AS of,
    {starts:Array(Int64)} AS start
WHERE scope = of
    AND toUnixTimestamp64Milli(at) <= start
GROUP BY
    scope,
    start
