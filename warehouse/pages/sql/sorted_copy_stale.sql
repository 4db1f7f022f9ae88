SELECT
    kind,
    subject,
    proposal_ref,
    generation,
    revision,
    votes,
    if(copy_format < ?, 0, fingerprint) AS fingerprint
FROM
(
    SELECT
        'ballots' AS kind,
        proposal_key AS subject,
        proposal_ref,
        revision,
        votes
    FROM proposal_states FINAL
    WHERE votes >= ?
        AND dao_id != ''

    UNION ALL

    SELECT
        'voters',
        dao_id,
        toFixedString('', 16),
        max(published_at),
        sum(counted) AS ballots
    FROM
    (
        -- A withdrawn proposal changes the ranking of its DAO once more.
        SELECT
            if(dao_id = '', withdrawn_from, dao_id) AS dao_id,
            revision AS published_at,
            if(dao_id = '' OR flagged, 0, votes) AS counted
        FROM proposal_states FINAL
    )
    GROUP BY dao_id
    HAVING ballots >= ?
) AS published
GLOBAL LEFT JOIN
(
    SELECT
        toString(kind) AS kind,
        subject,
        generation,
        revision AS copy_revision,
        copy_format,
        fingerprint
    FROM sorted_copies FINAL
) AS copies USING (kind, subject)
WHERE copy_revision < revision
    OR copy_format < ?
ORDER BY
    votes,
    subject
