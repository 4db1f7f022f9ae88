INSERT INTO proposal_titles
(
    length,
    descending,
    proposal_key,
    proposal_ref,
    dao_id,
    provider,
    title
)
