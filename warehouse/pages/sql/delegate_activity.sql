-- How often voters voted in some proposals, and when last in the DAO.
SELECT
    voter,
    uniqExactIf(proposal_ref, proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)) AS cast,
    maxOrNull(voted_at) AS last_vote_at
FROM ballots FINAL
WHERE voter IN {voters:Array(String)}
    AND NOT withdrawn
    AND proposal_ref GLOBAL IN (SELECT proposal_ref FROM proposal_states FINAL WHERE dao_id = {dao:String} AND NOT flagged)
GROUP BY voter
