SELECT
    proposal_ref,
    proposal_key,
    dao_id,
    provider,
    external_id,
    lifecycle,
    outcome,
    vote_ready,
    votes,
    power,
    choice_keys,
    choice_labels,
    choice_votes,
    choice_powers,
    quality_flags,
    revision
FROM proposal_states FINAL
WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
ORDER BY proposal_ref
