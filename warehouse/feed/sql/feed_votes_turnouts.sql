-- The turnouts of the ten votes of a source that ended before each vote of it began, with a hash of
-- them in any order; zero for none. What ended later was not known while the vote was open. Votes are
-- the wanted ones, and those that the feed includes with other turnouts, of the DAOs that wanted ones
-- belong to, or did when the feed included them.
SELECT
    vote.wanted AS wanted,
    vote.revision AS revision,
    vote.proposal_ref AS proposal_ref,
    vote.votes AS votes,
    vote.earlier.1 AS earlier_votes,
    vote.earlier.2 AS earlier_powers,
    if(empty(vote.earlier), 0, sipHash64(arraySort(arrayMap(t -> (t.1, toString(t.2)), vote.earlier)))) AS context
FROM
(
    SELECT
        proposal_ref,
        votes,
        revision,
        ended,
        groupArrayLastIf(10)((ifNull(total_votes, 0), total_power), ended) OVER (
            PARTITION BY dao_id, provider, source_id
            ORDER BY at, ended, proposal_ref
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS earlier,
        proposal_ref GLOBAL IN (SELECT proposal_ref FROM wanted_proposals) AS wanted
    FROM
    (
        SELECT
            *,
            lifecycle = 'closed' AND outcome != 'canceled' AND settled AND total_votes IS NOT NULL AND end_at IS NOT NULL AS counts,
            -- A vote whose end precedes its start has no turnout before it: neither has its own.
            arrayJoin([
                (false, ifNull(least(ifNull(start_at, end_at), ifNull(end_at, start_at)), toDateTime64(0, 3, 'UTC'))),
                (true, ifNull(end_at, toDateTime64(0, 3, 'UTC')))
            ]) AS moment,
            moment.1 AS ended,
            moment.2 AS at
        FROM proposal_states FINAL
        WHERE dao_id != ''
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
    )
    WHERE counts OR NOT ended
) AS vote
GLOBAL LEFT JOIN
(
    SELECT
        item,
        context
    FROM feed_progress FINAL
) AS done ON vote.proposal_ref = done.item
WHERE NOT vote.ended AND (vote.wanted OR done.context != context)
ORDER BY
    votes,
    proposal_ref
