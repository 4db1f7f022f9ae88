INSERT INTO corrections
(
    proposal_ref,
    from_revision,
    field,
    was,
    became,
    reason,
    at,
    revision
)
