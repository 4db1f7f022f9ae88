-- The delegations of a voter that apply now, one row a delegate.
SELECT
    scope,
    delegator,
    delegate,
    share,
    since,
    since_block
FROM
(
    SELECT
        toString(scope) AS scope,
        delegator,
        argMax(delegates, place) AS current,
        argMax(shares, place) AS parts,
        argMax(tuple(at), place).1 AS since,
        argMax(block, place) AS since_block
    FROM delegations FINAL
    WHERE NOT withdrawn
        AND (delegator = {voter:String}
            OR (scope, delegator) GLOBAL IN (SELECT scope, delegator FROM delegations WHERE has(delegates, {voter:String})))
        AND ({all:Bool} OR scope IN {scopes:Array(String)})
    GROUP BY
        scope,
        delegator
)
ARRAY JOIN
    current AS delegate,
    if(empty(parts), arrayResize([toDecimal128(1, 18)], length(current), toDecimal128(1, 18)), arrayMap(part -> toDecimal128(part, 18), parts)) AS share
WHERE (delegator = {voter:String} AND {given:Bool} OR delegate = {voter:String} AND {received:Bool})
    AND %s
ORDER BY
    -ifNull(toUnixTimestamp64Milli(since), -1),
    scope,
    delegator,
    delegate
LIMIT {limit:UInt64}
