SELECT
    host,
    external_id
FROM topic_states FINAL
WHERE name GLOBAL IN (SELECT arrayJoin(touched_topics) FROM proposal_links FINAL WHERE revision > {since:UInt64})
    OR hasAny(links, (SELECT groupUniqArrayArray(touched_names) FROM proposal_links FINAL WHERE revision > {since:UInt64}))
ORDER BY
    host,
    external_id
