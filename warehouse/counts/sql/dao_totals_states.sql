(
    -- The states of some DAOs. A proposal published under another DAO since then has a
    -- later revision there and is left out.
    SELECT *
    FROM proposal_states
    WHERE dao_id IN (SELECT dao_id FROM wanted_daos)
        AND (proposal_ref, revision) GLOBAL IN
        (
            SELECT
                proposal_ref,
                max(revision)
            FROM proposal_states
            WHERE proposal_ref GLOBAL IN
            (
                SELECT proposal_ref
                FROM proposal_states
                WHERE dao_id IN (SELECT dao_id FROM wanted_daos)
            )
            GROUP BY proposal_ref
        )
    ORDER BY proposal_ref
    LIMIT 1 BY proposal_ref
)
