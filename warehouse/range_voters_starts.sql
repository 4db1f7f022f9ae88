-- As range_totals_starts.sql, for all proposals of a DAO.
SELECT DISTINCT substring(voter, 1, {bytes:UInt8}) AS start
FROM ballots
WHERE proposal_ref GLOBAL IN
    (
        SELECT proposal_ref
        FROM proposal_states FINAL
        WHERE dao_id = {dao:String}
    )
    AND bitAnd(cityHash64(voter), {mask:UInt64}) = 0
    AND start != ''
    AND isValidUTF8(start)
    AND NOT endsWith(start, '\0')
ORDER BY start
SETTINGS max_threads = 1
