SELECT
    state.proposal_ref AS proposal_ref,
    state.votes AS votes
FROM
(
    SELECT
        proposal_ref,
        dao_id,
        votes,
        revision
    FROM proposal_states FINAL
) AS state
GLOBAL LEFT JOIN
(
    SELECT
        item,
        rules_version,
        revision,
        contracts
    FROM feed_progress FINAL
) AS done ON state.proposal_ref = done.item
GLOBAL LEFT JOIN
(
    SELECT
        dao_id,
        if(empty(contract_ids), 0, version) AS contracts
    FROM daos FINAL
) AS dao ON state.dao_id = dao.dao_id
WHERE done.revision < state.revision OR done.rules_version != {rules_version:UInt64} OR done.contracts != dao.contracts
ORDER BY
    state.votes,
    state.proposal_ref
