WHERE basis = 'eventTime'
    AND at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
    AND event_id IN {ids:Array(String)}
