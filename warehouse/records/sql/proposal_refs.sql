SELECT DISTINCT proposal_ref
FROM proposals
ORDER BY proposal_ref
