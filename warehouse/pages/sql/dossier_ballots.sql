-- Most ballots choose one choice, which choice_key names. Powers are the bytes that are stored.
SELECT
    proposal_ref,
    voter,
    choice_key,
    if(choice_key != '' AND choices = [choice_key], [], choices) AS several,
    arrayMap(share -> reinterpretAsFixedString(share), shares) AS shares,
    reinterpretAsFixedString(power) AS power,
    voted_at,
    voted_day_only
FROM latest_ballots
WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
