-- Who cast a ballot of at least the mean of the tenth's power over the proposals of a list: no other voter has as much.
SELECT DISTINCT voter
FROM ballots
INNER JOIN
(
    SELECT
        proposal_ref,
        min(toDecimal256(mean, 18)) AS least
    FROM wanted_lists
    GROUP BY proposal_ref
) AS bound ON ballots.proposal_ref = bound.proposal_ref
WHERE ballots.proposal_ref IN (SELECT proposal_ref FROM wanted_lists) AND power >= bound.least
