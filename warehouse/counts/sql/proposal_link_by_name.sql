SELECT
    proposal_ref,
    proposal_key,
    title,
    names,
    topic,
    flagged
FROM proposal_links FINAL
WHERE topic IN (SELECT name FROM wanted_discussions)
    OR arrayExists(name -> name IN (SELECT name FROM wanted_links), names)
ORDER BY
    title,
    proposal_key
