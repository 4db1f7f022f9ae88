    -- One row for each ballot, in one query: ballots that arrive meanwhile do not matter.
    SELECT
        proposal_ref,
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
        false AS recast
    FROM latest_ballots
    WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
