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
    basis,
    total_votes,
    total_power,
    settled,
    choice_keys,
    choice_labels,
    choice_votes,
    choice_powers,
    quality_flags,
    flagged,
    quorum_reached,
    ballots_observed_at,
    stated_fingerprint,
    confirmed,
    revision
FROM proposal_states FINAL
WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
ORDER BY proposal_ref
