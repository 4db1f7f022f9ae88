SELECT proposal_ref
FROM proposal_states FINAL
WHERE provider = {provider:String} AND source_id = {source:String} AND (
    if(dao_id = '', withdrawn_from, dao_id) != {dao:String}
    OR flagged != (
        {flagged:Bool} OR proposal_ref GLOBAL IN (
            SELECT proposal_ref FROM proposals FINAL WHERE provider = {provider:String} AND source_id = {source:String} AND flagged
        )
    )
)
ORDER BY proposal_ref
