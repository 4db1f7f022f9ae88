SELECT
    proposal_ref,
    voter,
    choice_key,
    choices,
    shares,
    power,
    voted_at,
    voted_day_only
FROM latest_ballots
WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
