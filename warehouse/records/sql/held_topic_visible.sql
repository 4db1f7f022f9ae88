SELECT external_id
FROM topics FINAL
WHERE host = {host:String}
    AND visible
    AND NOT withdrawn
    AND ifNull(created_at, toDateTime64(0, 3, 'UTC')) >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
    AND (host, external_id) NOT IN (SELECT host, external_id FROM wanted_topics)
ORDER BY external_id
