SELECT
    proposal_ref,
    earlier
FROM
(
    SELECT
        proposal_ref,
        groupArray(votes) OVER (
            PARTITION BY dao_id, provider, source_id
            ORDER BY end_at, proposal_ref
            ROWS BETWEEN 10 PRECEDING AND 1 PRECEDING
        ) AS earlier
    FROM proposal_states FINAL
    WHERE lifecycle = 'closed'
        AND outcome != 'canceled'
        AND vote_ready
        AND coverage = 'complete'
        AND end_at IS NOT NULL
        AND (dao_id, provider, source_id) GLOBAL IN
        (
            SELECT
                dao_id,
                provider,
                source_id
            FROM proposal_states
            WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
        )
)
WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
ORDER BY proposal_ref
