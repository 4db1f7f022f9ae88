CREATE OR REPLACE VIEW $views.forum_topics
(
    topic_key String COMMENT 'Key of the topic, the same as in the API.',
    dao_id String COMMENT 'The DAO.',
    provider LowCardinality(String) COMMENT 'discourse.',
    external_id String COMMENT 'Id of the topic at the provider.',
    title String COMMENT 'Title.',
    summary Nullable(String) COMMENT 'The beginning of the first post.',
    url String COMMENT 'Its page.',
    author Nullable(String) COMMENT 'Who opened it.',
    category Nullable(String) COMMENT 'Category of the forum.',
    tags Array(String) COMMENT 'Tags.',
    relevance_score UInt8 COMMENT 'How likely it is about governance, 0 to 100.',
    replies UInt64 COMMENT 'Posts after the first.',
    posts UInt64 COMMENT 'Posts.',
    likes UInt64 COMMENT 'Likes of all posts.',
    views UInt64 COMMENT 'How often it was viewed.',
    created_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When it was opened.',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When it last changed.',
    proposal_keys Array(String) COMMENT 'Keys of the proposals that it links, or that link it.'
)
DEFINER = CURRENT_USER SQL SECURITY DEFINER
COMMENT 'The topics of the forums, one row each. As /v2/forum-topics.'
AS
SELECT
    topic_key,
    dao_id,
    provider,
    identity_id AS external_id,
    title,
    nullIf(summary, '') AS summary,
    url,
    nullIf(author, '') AS author,
    nullIf(category, '') AS category,
    tags,
    score AS relevance_score,
    replies,
    posts,
    likes,
    views,
    created_at,
    updated_at,
    proposal_keys
FROM $data.topic_states FINAL
WHERE visible;
