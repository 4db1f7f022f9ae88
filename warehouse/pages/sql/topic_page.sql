-- The inner query selects rows by narrow columns; wide ones are read for these alone.
SELECT
    topic_key,
    dao_id,
    provider,
    identity_id AS external_id,
    title,
    summary,
    url,
    author,
    category,
    tags,
    score AS relevance_score,
    posts,
    replies,
    likes,
    views,
    created_at,
    updated_at
FROM topic_states AS topic FINAL
WHERE (topic.host, topic.external_id) GLOBAL IN
(
    SELECT
        host,
        external_id
    FROM
    (
        SELECT
            host,
            external_id,
            topic_key,
            %[1]s AS place
        FROM topic_states FINAL
        WHERE visible
            AND ({dao:String} = '' OR dao_id = {dao:String})
            AND ({provider:String} = '' OR provider = {provider:String})
            AND (NOT {has_related:Bool} OR related = {related:Bool})
            AND (NOT {has_from:Bool} OR toUnixTimestamp64Milli(updated_at) >= {from:Int64})
            AND (NOT {has_to:Bool} OR toUnixTimestamp64Milli(updated_at) < {to:Int64})
            AND replies >= {least:UInt64}
    )
    WHERE {after_key:String} = '' OR (place, topic_key) < ({after_place:Int64}, {after_key:String})
    ORDER BY
        place DESC,
        topic_key DESC
    LIMIT {limit:UInt64}
)
    AND visible
ORDER BY
    %[1]s DESC,
    topic_key DESC
