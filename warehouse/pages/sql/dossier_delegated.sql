-- The power of a token's delegates at the snapshot of a vote, beside the ballots, and how it moved
-- since the proposal. A token whose power changes without a log counts as undated.
SELECT
    sum(at_snapshot) AS power,
    countIf(at_snapshot > 0 AND isNull(cast_power)) AS silent,
    sumIf(at_snapshot, isNull(cast_power)) AS silent_power,
    sumIf(at_snapshot - at_creation, at_snapshot > at_creation) AS gained,
    sumIf(at_creation - at_snapshot, at_creation > at_snapshot) AS lost,
    countIf(ifNull(cast_power != at_snapshot, 0)) AS differing,
    toUInt64(sum(undated)) AS undated,
    (
        SELECT argMaxOrNull(supply, place)
        FROM token_supply FINAL
        WHERE scope = {token:String} AND NOT withdrawn AND at <= fromUnixTimestamp64Milli({snapshot:Int64})
    ) AS supply
FROM
(
    SELECT
        delegate,
        sum(later) AS at_snapshot,
        sum(earlier) AS at_creation,
        max(cast_in) AS cast_power,
        sum(without_time) AS undated
    FROM
    (
        SELECT
            delegate,
            argMaxIf(power, place, at <= fromUnixTimestamp64Milli({snapshot:Int64})) AS later,
            argMaxIf(power, place, at <= fromUnixTimestamp64Milli({created:Int64})) AS earlier,
            CAST(NULL AS Nullable(Decimal(76, 18))) AS cast_in,
            countIf(isNull(at) OR %s) AS without_time
        FROM delegate_power FINAL
        WHERE scope = {token:String} AND NOT withdrawn
        GROUP BY delegate

        UNION ALL

        SELECT
            voter,
            toDecimal256(0, 18),
            toDecimal256(0, 18),
            toNullable(power),
            toUInt64(0)
        FROM latest_ballots
        WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
    )
    GROUP BY delegate
)
