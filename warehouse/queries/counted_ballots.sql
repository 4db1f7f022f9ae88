    -- As latest_ballots, without its merging and sorting: what has one row is taken as
    -- it is, and only what repeated_voters names is picked from.
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
        true AS single,
        false AS recast
    FROM ballots
    WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
        AND %[1]s NOT IN (SELECT hash FROM repeated_voters)
    UNION ALL
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
        casts > 1 AS recast
    FROM
    (
        SELECT
            *,
            count() OVER (PARTITION BY proposal_ref, voter) AS casts
        FROM
        (
            SELECT
                proposal_ref,
                voter,
                vote_id,
                power,
                power_rounded,
                choices,
                shares,
                roots,
                voted_at,
                voted_day_only,
                observed_at
            FROM ballots
            WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
                AND %[1]s IN (SELECT hash FROM repeated_voters)
            ORDER BY
                proposal_ref,
                voter,
                vote_id,
                version DESC
            LIMIT 1 BY
                proposal_ref,
                voter,
                vote_id
        )
    )
    ORDER BY
        proposal_ref,
        voter,
        voted_at IS NULL,
        voted_at DESC,
        vote_id DESC
    LIMIT 1 BY
        proposal_ref,
        voter
