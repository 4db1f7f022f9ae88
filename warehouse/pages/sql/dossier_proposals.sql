SELECT
    proposal_ref,
    proposal_key,
    dao_id,
    derived_title AS title,
    lifecycle,
    outcome,
    isNotNull(total_votes) AS vote_ready,
    ifNull(total_votes, 0) AS votes,
    CAST(quality_flags AS Array(String)) AS quality,
    created_at,
    start_at,
    end_at
FROM proposal_states FINAL
WHERE dao_id != ''
    AND NOT flagged
    AND (dao_id IN {daos:Array(String)} OR proposal_ref GLOBAL IN (
        SELECT proposal_ref
        FROM proposals
        WHERE proposer_id IN {proposers:Array(String)}
    ))
ORDER BY
    end_at,
    proposal_key
SETTINGS max_threads = 1
