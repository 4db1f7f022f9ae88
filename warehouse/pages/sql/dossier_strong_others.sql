-- Who cast a ballot of at least the proposal's share of what the tenth of a list has: no other voter has as much.
SELECT DISTINCT voter
FROM ballots
INNER JOIN
(
    SELECT
        proposal_ref,
        min(toDecimal256(least, 18)) AS bound
    FROM wanted_lists
    GROUP BY proposal_ref
) AS wanted ON ballots.proposal_ref = wanted.proposal_ref
WHERE ballots.proposal_ref IN (SELECT proposal_ref FROM wanted_lists) AND power >= wanted.bound
