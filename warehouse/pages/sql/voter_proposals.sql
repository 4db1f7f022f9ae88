-- What the histories and profiles of voters need of published proposals. Those that were
-- withdrawn have no DAO.
SELECT
    proposal_ref,
    proposal_key,
    dao_id,
    choice_keys,
    choice_labels,
    least_choices,
    most_choices,
    choice_form,
    flagged
FROM proposal_states FINAL
WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
    AND dao_id != ''
SETTINGS max_threads = 1
