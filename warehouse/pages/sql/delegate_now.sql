-- The delegates who have power or delegators now. power is NULL where none is stated, and of a token whose
-- power changes without a log where it was stated before the token was asked last.
SELECT
    scope,
    delegate,
    if(max(stated) > 0 AND max(stated_in) < max(asked_in), NULL, max(stated)) AS power,
    sum(holders) AS delegators
FROM
(
    SELECT
        toString(scope) AS scope,
        delegate,
        toNullable(argMax(power, place)) AS stated,
        argMax(block, place) AS stated_in,
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
        0,
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
) AS held
GLOBAL LEFT JOIN
(
    SELECT
        toString(scope) AS scope,
        max(block) AS asked_in
    FROM delegate_power FINAL
    WHERE NOT withdrawn
        AND %[4]s
        AND %[5]s
    GROUP BY scope
) AS asked USING (scope)
GROUP BY
    scope,
    delegate
HAVING max(stated) > 0 OR delegators > 0
