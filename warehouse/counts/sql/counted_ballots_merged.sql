    -- The ballots that count, by the rule of latest_ballots, in the columns of
    -- counted_ballots.sql: one row for each ballot, in one query, so that ballots that arrive
    -- meanwhile do not matter.
    SELECT
        %s,
        arrayMap(choice -> toString(choice), choices) AS choices,
        form,
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
            count() OVER (PARTITION BY proposal_ref, voter) AS casts,
            row_number() OVER (
                PARTITION BY proposal_ref, voter
                ORDER BY voted_at IS NULL, voted_at DESC, vote_id DESC
            ) AS place_of_cast
        FROM
        (
            SELECT
                proposal_ref,
                voter,
                vote_id,
                choices,
                %s AS form,
                power,
                shares,
                roots,
                voted_at,
                voted_day_only,
                power_rounded,
                observed_at
            FROM ballots FINAL
            WHERE %s
                AND NOT withdrawn
        )
    )
    WHERE place_of_cast = 1
