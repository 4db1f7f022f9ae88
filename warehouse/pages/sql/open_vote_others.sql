-- The tokens and spaces in which others delegate to a voter now.
SELECT scope
FROM
(
    SELECT
        toString(scope) AS scope,
        delegator,
        argMax(delegates, place) AS current
    FROM delegations FINAL
    WHERE NOT withdrawn
        AND delegator != {voter:String}
        AND (scope, delegator) GLOBAL IN (SELECT scope, delegator FROM delegations WHERE has(delegates, {voter:String}))
    GROUP BY
        scope,
        delegator
)
WHERE has(current, {voter:String})
GROUP BY scope
