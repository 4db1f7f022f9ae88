INSERT INTO participation
(
    dao_id,
    fingerprint,
    unique_voters,
    votes
)
