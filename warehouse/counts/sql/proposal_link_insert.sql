INSERT INTO proposal_links
(
    proposal_ref,
    proposal_key,
    title,
    names,
    topic,
    touched_names,
    touched_topics,
    flagged,
    revision
)
