-- The topics that are linked with proposals: each proposal and topic states what it is found by.
WITH
    wanted AS
    (
        SELECT
            proposal_ref,
            arrayJoin(arrayConcat(if(topic = '', [], [('name', topic)]), arrayMap(link -> ('link', link), names))) AS found_by
        FROM proposal_links FINAL
        WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
    )
SELECT DISTINCT
    proposal_ref,
    host,
    external_id,
    created_at
FROM wanted
INNER JOIN
(
    SELECT
        host,
        external_id,
        created_at,
        arrayJoin(arrayConcat([('name', name)], arrayMap(link -> ('link', link), links))) AS found_by
    FROM topic_states FINAL
    WHERE visible
) AS topic ON wanted.found_by = topic.found_by
