-- The proposals of sources whose DAO or whose mark as spam is not the one of the last publication.
SELECT
    provider,
    source_id,
    proposal_ref
FROM proposal_states FINAL
INNER JOIN wanted_sources USING (provider, source_id)
WHERE if(dao_id = '', withdrawn_from, dao_id) != owner_id
    OR flagged != (
        spam OR proposal_ref GLOBAL IN (
            SELECT proposal_ref
            FROM proposals FINAL
            WHERE (provider, source_id) IN (SELECT provider, source_id FROM wanted_sources) AND flagged
        )
    )
ORDER BY proposal_ref
