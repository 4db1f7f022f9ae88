-- The power of a delegate at some times, by token, without tokens whose power changes without a log, and
-- without a power after which one is stated whose time is not known.
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
            WHERE scope IN {scopes:Array(String)}
                AND %s
        )
)
ARRAY JOIN
    {scopes:Array(String)} AS of,
    {starts:Array(Int64)} AS start
WHERE scope = of
    AND ifNull(toUnixTimestamp64Milli(at) <= start, 1)
GROUP BY
    scope,
    start
HAVING isNotNull(argMax(tuple(at), place).1)
