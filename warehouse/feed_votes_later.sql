-- The votes whose usual turnout includes a wanted vote, or did until it was withdrawn, canceled,
-- reopened, or found to lack ballots; see feed_votes_turnouts.sql.
SELECT
    proposal_ref,
    votes
FROM
(
    SELECT
        proposal_ref,
        votes,
        wanted,
        max(wanted) OVER (
            PARTITION BY owner, provider, source_id
            ORDER BY end_at, proposal_ref
            ROWS BETWEEN 10 PRECEDING AND 1 PRECEDING
        ) AS follows
    FROM
    (
        SELECT
            proposal_ref,
            if(dao_id = '', withdrawn_from, dao_id) AS owner,
            provider,
            source_id,
            end_at,
            votes,
            proposal_ref GLOBAL IN (SELECT proposal_ref FROM wanted_proposals) AS wanted
        FROM proposal_states FINAL
        WHERE (wanted OR dao_id != '' AND lifecycle = 'closed' AND outcome != 'canceled' AND vote_ready AND coverage = 'complete')
            AND end_at IS NOT NULL
            AND (owner, provider, source_id) GLOBAL IN
            (
                SELECT
                    if(dao_id = '', withdrawn_from, dao_id),
                    provider,
                    source_id
                FROM proposal_states
                WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
            )
    )
)
WHERE follows AND NOT wanted
ORDER BY
    votes,
    proposal_ref
