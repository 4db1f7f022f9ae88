SELECT DISTINCT proposal_ref
FROM proposal_states FINAL
WHERE
    (
        toUnixTimestamp64Milli(start_at) > {after:Int64}
        AND toUnixTimestamp64Milli(start_at) <= {until:Int64}
    )
    OR (
        toUnixTimestamp64Milli(end_at) > {after:Int64}
        AND toUnixTimestamp64Milli(end_at) <= {until:Int64}
    )
