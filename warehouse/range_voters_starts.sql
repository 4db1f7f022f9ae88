-- As range_totals_starts.sql, for all proposals of a DAO.
SELECT voter
FROM ballots
WHERE proposal_ref GLOBAL IN
    (
        SELECT proposal_ref
        FROM proposal_states FINAL
        WHERE dao_id = {dao:String}
    )
    AND voter != ''
    AND bitAnd(cityHash64(voter), {mask:UInt64}) = 0
GROUP BY voter
ORDER BY voter
SETTINGS max_threads = 1
