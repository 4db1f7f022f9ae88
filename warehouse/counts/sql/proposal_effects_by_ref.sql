SELECT
    proposal_ref,
    effects,
    findings
FROM proposal_effects FINAL
WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
