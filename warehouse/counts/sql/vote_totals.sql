-- The rows are single ballots or sums of equal ones. Their columns are qualified because
-- some sums have the same names.
SELECT
    proposal_ref,
    sum(ballot.votes) AS votes,
    sum(ballot.power) AS total_power,
    sumIf(ballot.power, notEmpty(choices)) AS supporting_power,
    -- Forms but that of one choice are counted under keys that are no choice's.
    (sumMap(if(form IN ('', 'number'), choices, arrayPushBack(choices, form)) AS named, arrayMap(choice -> ballot.votes, named)) AS votes_by_choice).1 AS vote_keys,
    votes_by_choice.2 AS choice_votes,
    -- sumMap omits keys whose sum is zero, so each map has keys of its own.
    (sumMap(choices, if(empty(shares), arrayMap(choice -> ballot.power, choices), shares)) AS powers_by_choice).1 AS power_keys,
    powers_by_choice.2 AS choice_powers,
    (sumMapIf(choices, roots, notEmpty(roots)) AS roots_by_choice).1 AS root_keys,
    roots_by_choice.2 AS choice_roots,
    max(voted_at) AS last_voted_at,
    sumIf(ballot.votes, month IS NULL) AS undated,
    sum(ballot.day_only) AS day_only,
    sum(ballot.rounded) AS rounded,
    (sumMapIf([assumeNotNull(month)], [ballot.votes], month IS NOT NULL) AS votes_by_month).1 AS voted_months,
    votes_by_month.2 AS voted_counts,
    max(observed_at) AS last_observed_at,
    sum(ballot.single) AS single,
    max(recast) AS recasts
FROM
(
%s
) AS ballot
GROUP BY proposal_ref
ORDER BY proposal_ref
