-- On which of some proposals some voters voted.
SELECT DISTINCT
    proposal_ref,
    voter
FROM ballots FINAL
WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
    AND voter IN {voters:Array(String)}
    AND NOT withdrawn
SETTINGS max_threads = 1
