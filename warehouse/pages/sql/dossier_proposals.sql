WITH
    of_proposers AS
    (
        SELECT proposal_ref
        FROM proposals
        WHERE proposer_id IN {proposers:Array(String)}
    ),
    known AS
    (
        SELECT proposal_ref
        FROM proposal_states
        WHERE dao_id IN {daos:Array(String)} OR proposal_ref GLOBAL IN (SELECT proposal_ref FROM of_proposers)
    )
SELECT
    state.proposal_ref AS proposal_ref,
    state.proposal_key AS proposal_key,
    state.dao_id AS dao_id,
    if(empty(state.derived_title), record.title, state.derived_title) AS title,
    record.proposer_id AS proposer_id,
    state.lifecycle AS lifecycle,
    state.outcome AS outcome,
    isNotNull(state.total_votes) AS vote_ready,
    ifNull(state.total_votes, 0) AS votes,
    state.created_at AS created_at,
    state.start_at AS start_at,
    state.end_at AS end_at,
    payload.hash AS payload
FROM
(
    SELECT
        proposal_ref,
        proposal_key,
        dao_id,
        derived_title,
        lifecycle,
        outcome,
        total_votes,
        created_at,
        start_at,
        end_at
    FROM proposal_states FINAL
    WHERE dao_id != ''
        AND NOT flagged
        AND (dao_id IN {daos:Array(String)} OR proposal_ref GLOBAL IN (SELECT proposal_ref FROM of_proposers))
) AS state
INNER JOIN
(
    SELECT
        proposal_ref,
        title,
        proposer_id
    FROM proposals FINAL
    WHERE proposal_ref GLOBAL IN (SELECT proposal_ref FROM known)
) AS record ON state.proposal_ref = record.proposal_ref
LEFT JOIN
(
    SELECT
        proposal_ref,
        cityHash64(arraySort(groupArray((chain, target, value, signature, calldata, delegate)))) AS hash
    FROM actions FINAL
    WHERE NOT withdrawn AND proposal_ref GLOBAL IN (SELECT proposal_ref FROM known)
    GROUP BY proposal_ref
) AS payload ON state.proposal_ref = payload.proposal_ref
ORDER BY
    end_at,
    proposal_key
SETTINGS max_threads = 1
