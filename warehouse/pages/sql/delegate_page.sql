SELECT
    rank,
    scope,
    delegate,
    power,
    delegators
FROM
(
    SELECT
        *,
        row_number() OVER (ORDER BY isNull(descending), descending, delegate, scope) AS rank
    FROM
    (
        SELECT
            scope,
            delegate,
            power,
            if(has({counted:Array(String)}, scope), toNullable(delegators), NULL) AS delegators,
            -toDecimal256(%[1]s, 18) AS descending
        FROM (%[2]s) AS now%[3]s
    )
)
WHERE %[4]s
ORDER BY rank
LIMIT {limit:UInt64}
