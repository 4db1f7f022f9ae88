SELECT
    proposal_ref,
    fingerprint,
    votes,
    total_power,
    supporting_power,
    choice_keys AS vote_keys,
    choice_votes,
    choice_keys AS power_keys,
    choice_powers,
    root_keys,
    choice_roots,
    last_voted_at,
    undated,
    day_only,
    rounded,
    voted_months,
    voted_counts,
    last_observed_at,
    recasts
FROM vote_totals FINAL
WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
