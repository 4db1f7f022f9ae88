INSERT INTO changes
(
    epoch,
    at_ms,
    number,
    kind,
    key,
    dao_id,
    changed_at,
    revision
)
