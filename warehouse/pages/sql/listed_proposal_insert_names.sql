INSERT INTO proposal_names
(
    name,
    descending,
    proposal_key,
    proposal_ref,
    dao_id,
    provider
)
