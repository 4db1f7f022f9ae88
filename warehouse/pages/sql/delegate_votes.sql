-- The latest votes of a DAO that are over and of which ballots are held.
SELECT proposal_ref
FROM proposal_states FINAL
WHERE dao_id = {dao:String}
    AND NOT flagged
    AND lifecycle = 'closed'
    AND votes > 0
ORDER BY
    end_at DESC NULLS LAST,
    proposal_key
LIMIT {limit:UInt64}
