-- Of rows that are one ballot or a sum of alike ones. Their columns go by their table, as
-- some of the sums have the same names.
SELECT
    proposal_ref,
    sum(ballot.votes) AS votes,
    sum(ballot.power) AS total_power,
    sumIf(ballot.power, notEmpty(choices)) AS supporting_power,
    (sumMap(choices, arrayMap(choice -> ballot.votes, choices)) AS choice_votes).1,
    choice_votes.2,
    -- sumMap leaves out keys whose sum is zero, so each map brings its own keys.
    (sumMap(choices, if(empty(shares), arrayMap(choice -> ballot.power, choices), shares)) AS choice_powers).1,
    choice_powers.2,
    (sumMapIf(choices, roots, notEmpty(roots)) AS root_sums).1,
    root_sums.2,
    max(voted_at) AS last_voted_at,
    sumIf(ballot.votes, month IS NULL) AS undated,
    sum(ballot.day_only) AS day_only,
    sum(ballot.rounded) AS rounded,
    (sumMapIf([assumeNotNull(month)], [ballot.votes], month IS NOT NULL) AS voted_in).1,
    voted_in.2,
    max(observed_at) AS last_observed_at,
    sum(ballot.single) AS single,
    max(recast) AS recasts
FROM
(
%s
) AS ballot
GROUP BY proposal_ref
ORDER BY proposal_ref
