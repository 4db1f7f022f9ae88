SELECT
    length,
    descending,
    proposal_key,
    proposal_ref
FROM proposal_titles
WHERE position(title, {text:String}) > 0
    AND length > {longer:UInt32}
    AND ({dao:String} = '' OR dao_id = {dao:String})
    AND ({provider:String} = '' OR provider = {provider:String})
    AND (
        {after_key:String} = ''
        OR (length, descending, proposal_key) > ({after_length:UInt32}, {after_descending:Int64}, {after_key:String})
    )
ORDER BY
    length,
    descending,
    proposal_key
LIMIT {limit:UInt64}
