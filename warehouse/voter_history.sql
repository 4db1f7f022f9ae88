SELECT
    proposal_ref,
    vote_id,
    proposal_key,
    choice_key,
    power AS voting_power,
    voted_at,
    tx_hash AS transaction_hash
FROM
(
    SELECT
        *,
        ifNull(toUnixTimestamp64Milli(voted_at), -1) AS at
    FROM (%s)
)
WHERE ({dao:String} = '' OR dao_id = {dao:String})
    AND ({has_from:UInt8} = 0 OR at >= {from:Int64} AND at >= 0)
    AND ({has_to:UInt8} = 0 OR at < {to:Int64} AND at >= 0)
    AND ({after_key:String} = '' OR (at, proposal_key) < ({after_at:Int64}, {after_key:String}))
ORDER BY
    at DESC,
    proposal_key DESC
LIMIT {limit:UInt64}
