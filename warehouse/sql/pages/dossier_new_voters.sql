SELECT count() AS new_voters
FROM latest_ballots
WHERE proposal_ref = unhex({ref:String})
    AND voter GLOBAL NOT IN
    (
        SELECT voter
        FROM ballots FINAL
        WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals) AND NOT withdrawn
    )
