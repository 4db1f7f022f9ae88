    -- The ballots of some ranges of voters that count, by the rule of latest_ballots, with
    -- what counted_ballots.sql states of each. Reads the granules of these ranges alone.
    SELECT
        arrayLastIndex(start -> start <= voter, {starts:Array(String)}) AS place,
        arrayMap(choice -> toString(choice), choices) AS choices,
        toYYYYMM(voted_at) AS month,
        toUInt64(1) AS votes,
        power,
        shares,
        roots,
        voted_at,
        voted_day_only AS day_only,
        power_rounded AS rounded,
        observed_at,
        toUInt64(0) AS single,
        casts > 1 AS recast
    FROM
    (
        SELECT
            *,
            count() OVER (PARTITION BY voter) AS casts,
            row_number() OVER (PARTITION BY voter ORDER BY voted_at IS NULL, voted_at DESC, vote_id DESC) AS place_of_cast
        FROM
        (
            SELECT
                voter,
                vote_id,
                choices,
                power,
                shares,
                roots,
                voted_at,
                voted_day_only,
                power_rounded,
                observed_at
            FROM ballots FINAL
            WHERE proposal_ref = unhex({ref:String})
                AND NOT withdrawn
                AND (%s)
        )
    )
    WHERE place_of_cast = 1
