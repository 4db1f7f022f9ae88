WHERE basis = {basis:String}
    AND at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC')
    AND at <= fromUnixTimestamp64Milli({last:Int64}, 'UTC')
    AND ({dao:String} = '' OR dao_id = {dao:String})
    AND (empty({types:Array(String)}) OR has({types:Array(String)}, toString(event_type)))
    AND importance >= {least:UInt8}
    AND ({after_id:String} = '' OR (toUnixTimestamp64Milli(at), event_id) < ({after_at:Int64}, {after_id:String}))
ORDER BY
    at DESC,
    event_id DESC
LIMIT {limit:UInt64}
