SELECT
    state.proposal_ref AS proposal_ref,
    state.votes AS votes
FROM
(
    SELECT
        proposal_ref,
        votes,
        revision
    FROM proposal_states FINAL
) AS state
GLOBAL LEFT JOIN
(
    SELECT
        item,
        rules_version,
        revision
    FROM feed_progress FINAL
) AS done ON state.proposal_ref = done.item
WHERE done.revision < state.revision OR done.rules_version != {rules_version:UInt64}
ORDER BY
    state.votes,
    state.proposal_ref
