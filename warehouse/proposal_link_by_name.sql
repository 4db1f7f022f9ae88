SELECT
    proposal_ref,
    proposal_key,
    title,
    names,
    topic
FROM proposal_links FINAL
WHERE topic IN (SELECT name FROM wanted_discussions)
    OR hasAny(names, (SELECT groupArray(name) FROM wanted_links))
ORDER BY
    title,
    proposal_key
