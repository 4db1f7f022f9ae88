INSERT INTO proposal_states
SELECT * REPLACE (
    arrayDistinct(arrayPushBack(quality_flags, {flag:String})) AS quality_flags,
    {revision:UInt64} AS revision
)
FROM proposal_states FINAL
WHERE proposal_ref = unhex({ref:String})
