-- Which of some voters are or were a side of a delegation, or have or had power of a token.
SELECT DISTINCT voter
FROM
(
    SELECT delegate AS voter
    FROM delegate_power FINAL
    WHERE delegate IN {voters:Array(String)} AND NOT withdrawn AND power > 0

    UNION ALL

    SELECT arrayJoin(arrayPushBack(delegates, delegator))
    FROM delegations FINAL
    WHERE NOT withdrawn AND (delegator IN {voters:Array(String)} OR hasAny(delegates, {voters:Array(String)}))
)
WHERE voter IN {voters:Array(String)}
