-- The published proposals of a DAO, with their current sorted copies.
SELECT
    proposal_key,
    proposal_ref,
    votes,
    lifecycle = 'closed' AND coverage = 'complete' AS final,
    copied.generation AS generation
FROM
(
    SELECT proposal_key, proposal_ref, votes, lifecycle, coverage, end_at
    FROM proposal_states FINAL
    WHERE dao_id = {dao:String}
) AS state
GLOBAL LEFT JOIN
(
    SELECT
        subject,
        max(generation) AS generation
    FROM sorted_copies FINAL
    WHERE kind = 'ballots'
    GROUP BY subject
) AS copied ON copied.subject = state.proposal_key
ORDER BY
    final DESC,
    end_at NULLS FIRST,
    proposal_key
