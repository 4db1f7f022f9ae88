-- The voters that begin ranges: one of so many by hash, so that ranges have about as many
-- each, however many vote and whatever their identities are.
-- One thread: no caller waits for this statement.
SELECT voter
FROM ballots
WHERE proposal_ref = unhex({ref:String})
    AND voter != ''
    AND bitAnd(cityHash64(voter), {mask:UInt64}) = 0
GROUP BY voter
ORDER BY voter
SETTINGS max_threads = 1
