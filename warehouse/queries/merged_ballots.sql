    -- One look at the table, however much lands meanwhile.
    SELECT
        proposal_ref,
        power,
        power_rounded,
        arrayMap(choice -> toString(choice), choices) AS choices,
        shares,
        roots,
        voted_at,
        voted_day_only,
        observed_at,
        false AS single,
        false AS recast
    FROM latest_ballots
    WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
