SELECT
    votes,
    (
        SELECT max(generation)
        FROM sorted_copies FINAL
        WHERE kind = 'ballots'
            AND subject = {key:String}
    ) AS generation
FROM proposal_states FINAL
WHERE proposal_ref = unhex({ref:String})
    AND dao_id != ''
