SELECT
    proposal_ref,
    proposal_key,
    title,
    names,
    topic,
    flagged
FROM proposal_links FINAL
WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
ORDER BY proposal_ref
