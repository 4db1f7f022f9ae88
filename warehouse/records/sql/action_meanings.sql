SELECT
    proposal_ref,
    position,
    CAST(kind AS String) AS kind,
    CAST(function AS String) AS function,
    inner_calls,
    undecoded
FROM actions FINAL
PREWHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
WHERE NOT withdrawn
