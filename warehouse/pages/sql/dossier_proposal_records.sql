-- Actions that upstream no longer states are none of the payload.
WITH arraySort(arrayMap(call -> call.2, arrayFilter(call -> isNull(stated_actions) OR call.1 < stated_actions, calls))) AS stated_calls
SELECT
    record.proposal_ref AS proposal_ref,
    title,
    proposer_id,
    milestone_types,
    milestone_times,
    if(empty(stated_calls), 0, cityHash64(stated_calls)) AS payload
FROM
(
    SELECT
        proposal_ref,
        title,
        proposer_id,
        CAST(milestone_types AS Array(String)) AS milestone_types,
        milestone_times,
        stated_actions
    FROM proposals FINAL
    WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
) AS record
LEFT JOIN
(
    SELECT
        proposal_ref,
        groupArray((position, cityHash64(chain, target, value, signature, calldata, delegate))) AS calls
    FROM actions FINAL
    WHERE NOT withdrawn AND proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
    GROUP BY proposal_ref
) AS called ON record.proposal_ref = called.proposal_ref
SETTINGS max_threads = 1
