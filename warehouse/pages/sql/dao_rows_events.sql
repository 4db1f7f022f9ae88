WHERE basis = 'eventTime'
    AND at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC')
    AND at < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
    AND dao_id = {dao:String}
ORDER BY
    at,
    event_id
