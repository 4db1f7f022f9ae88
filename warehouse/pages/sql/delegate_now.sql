-- The delegates who have power or delegators now. power is NULL where none is stated.
SELECT
    scope,
    delegate,
    max(stated) AS power,
    sum(holders) AS delegators
FROM
(
    SELECT
        toString(scope) AS scope,
        delegate,
        toNullable(argMax(power, place)) AS stated,
        0 AS holders
    FROM delegate_power FINAL
    WHERE NOT withdrawn AND %[1]s
    GROUP BY
        scope,
        delegate

    UNION ALL

    SELECT
        scope,
        delegate,
        NULL,
        count()
    FROM
    (
        SELECT
            toString(scope) AS scope,
            delegator,
            arrayJoin(argMax(delegates, place)) AS delegate
        FROM delegations FINAL
        WHERE NOT withdrawn AND %[2]s
        GROUP BY
            scope,
            delegator
    )
    WHERE %[3]s
    GROUP BY
        scope,
        delegate
)
GROUP BY
    scope,
    delegate
HAVING power > 0 OR delegators > 0
