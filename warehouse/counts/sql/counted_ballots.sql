    -- The ballots of latest_ballots without merging and sorting, in one pass over the
    -- table: voters with one row are summed by choices and month while reading, and only
    -- the rows of repeated_voters stay apart, to be compared. A voter whose only row was
    -- withdrawn since these were read is left out here, and found missing by the caller.
    SELECT
        proposal_ref,
        arrayMap(choice -> toString(choice), choices) AS choices,
        form,
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
                form,
                month,
                repeated,
                withdrawn,
                row.1 AS voter,
                row.2 AS vote_id,
                row.3 AS version,
                row.4 AS votes,
                row.5 AS power,
                row.6 AS shares,
                row.7 AS roots,
                row.8 AS voted_at,
                row.9 AS day_only,
                row.10 AS rounded,
                row.11 AS observed_at,
                row_number() OVER (PARTITION BY proposal_ref, voter, vote_id ORDER BY version DESC) AS age
            FROM
            (
                SELECT
                    proposal_ref,
                    choices,
                    form,
                    toYYYYMM(voted_at) AS month,
                    repeated,
                    withdrawn,
                    if(
                        repeated,
                        groupArrayIf(
                            (voter, vote_id, version, 1, power, shares, roots, voted_at, voted_day_only, power_rounded, observed_at),
                            repeated
                        ),
                        [(
                            '', '', 0, count(), sum(power), sumForEach(shares), sumForEach(roots), max(voted_at),
                            countIf(voted_day_only), countIf(power_rounded), max(observed_at)
                        )]
                    ) AS rows
                FROM
                (
                    SELECT
                        *,
                        %[1]s IN (SELECT hash FROM repeated_voters) AS repeated,
                        %[2]s AS form
                    FROM ballots
                    WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
                )
                GROUP BY
                    proposal_ref,
                    choices,
                    form,
                    month,
                    repeated,
                    withdrawn,
                    notEmpty(shares),
                    notEmpty(roots)
            )
            ARRAY JOIN rows AS row
        )
        WHERE NOT withdrawn
            AND (NOT repeated OR age = 1)
    )
    WHERE NOT repeated OR place = 1
