SELECT proposal_ref
FROM proposal_states FINAL
WHERE dao_id = {dao:String} AND NOT flagged
