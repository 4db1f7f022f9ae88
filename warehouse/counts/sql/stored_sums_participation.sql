SELECT
    dao_id,
    fingerprint,
    unique_voters,
    votes
FROM participation FINAL
WHERE dao_id IN (SELECT dao_id FROM wanted_daos)
