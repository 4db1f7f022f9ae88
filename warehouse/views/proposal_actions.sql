CREATE OR REPLACE VIEW $views.proposal_actions
(
    proposal_key String COMMENT 'The proposal.',
    dao_id String COMMENT 'The DAO.',
    action_index UInt32 COMMENT 'Position among the actions of the proposal, from 0.',
    chain LowCardinality(String) COMMENT 'The chain, eip155:<number>; empty if unknown.',
    executor Nullable(String) COMMENT 'The address that calls, such as a Safe; NULL if unknown.',
    target String COMMENT 'The called address, in lower case.',
    value UInt256 COMMENT 'Native amount in wei.',
    operation LowCardinality(String) COMMENT 'call, or delegatecall: code of the target runs in the name of the caller.',
    kind LowCardinality(String) COMMENT 'What the function is for: transfer, approval, mint_burn, role, ownership, upgrade, governance_setting, timelock, parameter, bridge, batch, safe, stream, swap, ens or other.',
    function Nullable(String) COMMENT 'Signature of the called function; NULL for a plain payment, or if the call is not decoded.',
    arguments String COMMENT 'The decoded arguments, a JSON array of objects with name, type, value and items.',
    inner_calls UInt32 COMMENT 'How many calls the arguments have inside.',
    undecoded Nullable(String) COMMENT 'Why the call, or what is inside, is not decoded; NULL if it is.',
    stated_signature Nullable(String) COMMENT 'The signature that the contract states; the calldata then has no selector.',
    calldata String COMMENT 'The whole calldata, in hexadecimal.',
    block_number Nullable(UInt64) COMMENT 'The block that states the action; NULL if a chain was not read.',
    transaction_hash Nullable(String) COMMENT 'The transaction that states the action; NULL if a chain was not read.'
)
DEFINER = CURRENT_USER SQL SECURITY DEFINER
COMMENT 'What proposals execute if they pass, one row a call.'
AS
SELECT
    state.proposal_key AS proposal_key,
    state.dao_id AS dao_id,
    action.position AS action_index,
    action.chain AS chain,
    nullIf(action.executor, '') AS executor,
    action.target AS target,
    toUInt256(action.value) AS value,
    if(action.delegate, 'delegatecall', 'call') AS operation,
    if(own.kind != '', own.kind, CAST(action.kind, 'String')) AS kind,
    nullIf(if(own.kind != '', own.function, CAST(action.function, 'String')), '') AS function,
    if(own.kind != '', own.arguments, action.arguments) AS arguments,
    if(own.kind != '', own.inner_calls, action.inner_calls) AS inner_calls,
    nullIf(if(own.kind != '', own.undecoded, action.undecoded), '') AS undecoded,
    nullIf(action.signature, '') AS stated_signature,
    concat('0x', lower(hex(action.calldata))) AS calldata,
    nullIf(action.block, 0) AS block_number,
    nullIf(action.tx_hash, '') AS transaction_hash
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
        delegate,
        block,
        tx_hash,
        withdrawn,
        kind,
        function,
        arguments,
        inner_calls,
        undecoded
    FROM $data.actions
    WHERE version < (SELECT ifNull(minOrNull(first_version), toUInt64(-1)) FROM $data.batches FINAL WHERE sealed = 0)
    ORDER BY
        proposal_ref,
        action_id,
        version DESC
    LIMIT 1 BY proposal_ref, action_id
) AS action
INNER JOIN
(
    SELECT
        proposal_ref,
        stated_actions
    FROM $data.proposals FINAL
) AS record ON action.proposal_ref = record.proposal_ref
INNER JOIN
(
    SELECT
        proposal_ref,
        proposal_key,
        dao_id
    FROM $data.proposal_states FINAL
    WHERE dao_id != ''
) AS state ON action.proposal_ref = state.proposal_ref
LEFT JOIN
(
    SELECT
        proposal_ref,
        JSONExtract(call, 'index', 'UInt32') AS position,
        JSONExtractString(call, 'kind') AS kind,
        JSONExtractString(call, 'function') AS function,
        JSONExtractRaw(call, 'arguments') AS arguments,
        JSONExtract(call, 'innerCalls', 'UInt32') AS inner_calls,
        JSONExtractString(call, 'undecoded') AS undecoded
    FROM
    (
        SELECT
            proposal_ref,
            arrayJoin(JSONExtractArrayRaw(calls)) AS call
        FROM $data.proposal_effects FINAL
    )
) AS own ON action.proposal_ref = own.proposal_ref AND action.position = own.position
WHERE NOT action.withdrawn
    AND (record.stated_actions IS NULL OR action.position < record.stated_actions);
