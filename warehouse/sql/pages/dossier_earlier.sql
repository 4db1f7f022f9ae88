SELECT
    state.proposal_key AS proposal_key,
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
    WHERE NOT withdrawn
        AND (has({addresses:Array(String)}, target) OR multiSearchAny(lower(hex(calldata)), {packed:Array(String)}))
) AS action
INNER JOIN
(
    SELECT
        proposal_ref,
        proposal_key,
        end_at
    FROM proposal_states FINAL
    WHERE dao_id = {dao:String} AND outcome = 'executed' AND ifNull(created_at, start_at) < fromUnixTimestamp64Milli({before:Int64}, 'UTC')
) AS state ON action.proposal_ref = state.proposal_ref
ORDER BY
    state.end_at DESC,
    action.proposal_ref,
    position
LIMIT 500
