SELECT
    state.proposal_ref,
    state.votes
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
        edition,
        revision
    FROM chronicle_items FINAL
) AS done ON state.proposal_ref = done.item
WHERE done.revision < state.revision OR done.edition != {edition:UInt64}
ORDER BY
    state.votes,
    state.proposal_ref
