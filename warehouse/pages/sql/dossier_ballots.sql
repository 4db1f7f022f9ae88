-- All casts on proposals, in order of the voters. Most choose one choice, which choice_key names. Powers are the bytes that
-- are stored. Columns of few different values would be sorted at twice the cost of strings.
SELECT
    proposal_ref,
    voter AS voter_identity,
    vote_id,
    version,
    withdrawn,
    CAST(choice_key AS String) AS choice,
    raw_choice,
    if(choice_key != '' AND choices = [choice_key], [], CAST(choices AS Array(String))) AS several,
    arrayMap(share -> reinterpretAsFixedString(share), shares) AS shares,
    reinterpretAsFixedString(power) AS units,
    voted_at,
    voted_day_only
FROM ballots
WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
ORDER BY
    proposal_ref,
    voter,
    vote_id,
    version DESC
SETTINGS max_threads = 1, query_plan_execute_functions_after_sorting = 0
