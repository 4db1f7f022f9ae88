SELECT quality_flags
FROM proposal_states FINAL
WHERE proposal_ref = unhex({ref:String})
