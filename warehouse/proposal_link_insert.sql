INSERT INTO proposal_links
(
    proposal_ref,
    proposal_key,
    title,
    names,
    topic,
    changed_names,
    changed_topics,
    revision
)
