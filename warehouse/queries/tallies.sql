SELECT
    proposal_ref,
    count() AS votes,
    sum(power) AS total_power,
    sumIf(power, notEmpty(choices)) AS supporting_power,
    (sumMap(choices, arrayMap(choice -> toUInt64(1), choices)) AS choice_votes).1,
    choice_votes.2,
    -- sumMap leaves out keys whose sum is zero, so each map brings its own keys.
    (sumMap(choices, if(empty(shares), arrayMap(choice -> power, choices), shares)) AS choice_powers).1,
    choice_powers.2,
    (sumMapIf(choices, roots, notEmpty(roots)) AS root_sums).1,
    root_sums.2,
    max(voted_at) AS last_voted_at,
    countIf(voted_at IS NULL) AS undated,
    countIf(voted_day_only) AS day_only,
    countIf(power_rounded) AS rounded,
    (sumMapIf([toYYYYMM(assumeNotNull(voted_at))], [toUInt64(1)], voted_at IS NOT NULL) AS voted_in).1,
    voted_in.2,
    max(observed_at) AS last_observed_at,
    countIf(single) AS single_rows,
    max(recast) AS recasts
FROM
(
%s
)
GROUP BY proposal_ref
ORDER BY proposal_ref
