SELECT
    proposal_ref,
    effects,
    findings,
    calls
FROM proposal_effects FINAL
WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
