    -- As latest_ballots, without its merging and sorting, in one look at the table: what
    -- has one row is summed up by choices and month as it is read, and only rows that
    -- repeated_voters names are held one by one, to be picked from.
    SELECT
        proposal_ref,
        arrayMap(choice -> toString(choice), choices) AS choices,
        month,
        votes,
        power,
        shares,
        roots,
        voted_at,
        day_only,
        rounded,
        observed_at,
        if(repeated, 0, votes) AS single,
        toBool(repeated AND casts > 1) AS recast
    FROM
    (
        SELECT
            *,
            count() OVER (PARTITION BY proposal_ref, voter) AS casts,
            row_number() OVER (
                PARTITION BY proposal_ref, voter
                ORDER BY voted_at IS NULL, voted_at DESC, vote_id DESC
            ) AS place
        FROM
        (
            SELECT
                proposal_ref,
                choices,
                month,
                repeated,
                voter,
                vote_id,
                votes,
                power,
                shares,
                roots,
                voted_at,
                day_only,
                rounded,
                observed_at,
                row_number() OVER (PARTITION BY proposal_ref, voter, vote_id ORDER BY version DESC) AS age
            FROM
            (
                SELECT
                    proposal_ref,
                    choices,
                    toYYYYMM(voted_at) AS month,
                    repeated,
                    count() AS all_votes,
                    sum(power) AS all_power,
                    sumForEach(shares) AS all_shares,
                    sumForEach(roots) AS all_roots,
                    max(voted_at) AS last_voted_at,
                    countIf(voted_day_only) AS all_day_only,
                    countIf(power_rounded) AS all_rounded,
                    max(observed_at) AS last_observed_at,
                    groupArrayIf(
                        (voter, vote_id, version, power, shares, roots, voted_at, voted_day_only, power_rounded, observed_at),
                        repeated
                    ) AS held
                FROM
                (
                    SELECT
                        *,
                        %[1]s IN (SELECT hash FROM repeated_voters) AS repeated
                    FROM ballots
                    WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
                )
                GROUP BY
                    proposal_ref,
                    choices,
                    month,
                    repeated,
                    notEmpty(shares),
                    notEmpty(roots)
            )
            ARRAY JOIN
                if(repeated, held.1, ['']) AS voter,
                if(repeated, held.2, ['']) AS vote_id,
                if(repeated, held.3, [0]) AS version,
                if(repeated, arrayMap(row -> toUInt64(1), held), [all_votes]) AS votes,
                if(repeated, held.4, [all_power]) AS power,
                if(repeated, held.5, [all_shares]) AS shares,
                if(repeated, held.6, [all_roots]) AS roots,
                if(repeated, held.7, [last_voted_at]) AS voted_at,
                if(repeated, held.8, [all_day_only]) AS day_only,
                if(repeated, held.9, [all_rounded]) AS rounded,
                if(repeated, held.10, [last_observed_at]) AS observed_at
        )
        WHERE NOT repeated OR age = 1
    )
    WHERE NOT repeated OR place = 1
