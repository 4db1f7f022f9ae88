SELECT
    toUInt32(0) AS length,
    descending,
    proposal_key,
    proposal_ref
FROM proposal_names
WHERE name = {name:UInt64}
    AND ({dao:String} = '' OR dao_id = {dao:String})
    AND ({provider:String} = '' OR provider = {provider:String})
    AND ({after_key:String} = '' OR (descending, proposal_key) > ({after_descending:Int64}, {after_key:String}))
ORDER BY
    name,
    descending,
    proposal_key
LIMIT {limit:UInt64}
