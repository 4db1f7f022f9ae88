SELECT
    action.proposal_ref AS proposal_ref,
    chain,
    executor,
    target,
    value,
    signature,
    calldata,
    delegate
FROM
(
    SELECT
        proposal_ref,
        position,
        chain,
        executor,
        target,
        value,
        signature,
        calldata,
        delegate
    FROM actions FINAL
    PREWHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
    WHERE NOT withdrawn
        AND (has({addresses:Array(String)}, target) OR multiSearchAny(lower(hex(calldata)), {packed:Array(String)}))
) AS action
INNER JOIN
(
    SELECT
        proposal_ref,
        end_at
    FROM proposal_states FINAL
    WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
) AS state ON action.proposal_ref = state.proposal_ref
ORDER BY
    state.end_at DESC,
    proposal_ref,
    position
LIMIT 500
