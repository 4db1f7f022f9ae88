-- Pages of the histories of several voters.
SELECT
    page,
    proposal_ref,
    vote_id,
    proposal_key,
    choice_key,
    power AS voting_power,
    voted_at,
    tx_hash AS transaction_hash
FROM
(
    SELECT
        *,
        ifNull(toUnixTimestamp64Milli(voted_at), -1) AS at
    FROM (%s)
) AS ballot
INNER JOIN wanted_voters AS wanted ON ballot.voter = wanted.voter
WHERE (dao = '' OR dao_id = dao)
    AND (NOT has_from OR at >= from_at AND at >= 0)
    AND (NOT has_to OR at < to_at AND at >= 0)
    AND (after_key = '' OR (at, proposal_key) < (after_at, after_key))
ORDER BY
    page,
    at DESC,
    proposal_key DESC
LIMIT {limit:UInt64} BY page
