SELECT
    proposal_ref,
    proposal_key,
    revision,
    %s AS band,
    %s AS place
FROM listed_proposals
WHERE ({dao:String} = '' OR dao_id = {dao:String})
    AND ({provider:String} = '' OR provider = {provider:String})
    AND ({proposer:String} = '' OR proposer_id = {proposer:String})
    AND ({lifecycles:String} = '' OR has(splitByChar(',', {lifecycles:String}), lifecycle))
    AND ({outcomes:String} = '' OR has(splitByChar(',', {outcomes:String}), outcome))
    AND (
        {has_window:UInt8} = 0
        OR %s >= fromUnixTimestamp64Milli({from:Int64}, 'UTC')
        AND %s < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
    )
    AND (
        {after_key:String} = ''
        OR (band, place) > ({after_band:Int64}, {after_place:Int64})
        OR (band, place) = ({after_band:Int64}, {after_place:Int64})
        AND if(band = 2, proposal_key < {after_key:String}, proposal_key > {after_key:String})
        OR (band, place, proposal_key) = ({after_band:Int64}, {after_place:Int64}, {after_key:String})
        AND revision < {after_revision:UInt64}
    )
ORDER BY
    band,
    place,
    if(band = 2, '', proposal_key),
    proposal_key DESC,
    revision DESC
LIMIT {limit:UInt64}
