-- The turnouts of the ten votes before each vote of a source, with a hash of them in any order; zero for none.
-- With later, of those votes that the feed includes with other turnouts, of the DAOs that
-- wanted ones belong to, or did when the feed included them; otherwise of the wanted ones.
SELECT
    vote.proposal_ref AS proposal_ref,
    vote.votes AS votes,
    vote.earlier AS earlier,
    if(empty(vote.earlier), 0, sipHash64(arraySort(vote.earlier))) AS context
FROM
(
    SELECT
        proposal_ref,
        votes,
        groupArray(assumeNotNull(total_votes)) OVER (
            PARTITION BY dao_id, provider, source_id
            ORDER BY end_at, proposal_ref
            ROWS BETWEEN 10 PRECEDING AND 1 PRECEDING
        ) AS earlier,
        proposal_ref GLOBAL IN (SELECT proposal_ref FROM wanted_proposals) AS wanted
    FROM proposal_states FINAL
    WHERE lifecycle = 'closed'
        AND outcome != 'canceled'
        AND settled
        AND total_votes IS NOT NULL
        AND end_at IS NOT NULL
        AND dao_id != ''
        AND NOT flagged
        AND dao_id GLOBAL IN
        (
            SELECT if(dao_id = '', withdrawn_from, dao_id)
            FROM proposal_states
            WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)

            UNION ALL

            SELECT dao_id
            FROM feed_progress
            WHERE item IN (SELECT proposal_ref FROM wanted_proposals)
        )
) AS vote
GLOBAL LEFT JOIN
(
    SELECT
        item,
        context
    FROM feed_progress FINAL
) AS done ON vote.proposal_ref = done.item
WHERE if({later:Bool}, NOT vote.wanted AND done.context != context, vote.wanted)
ORDER BY
    votes,
    proposal_ref
