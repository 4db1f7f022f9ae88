SELECT
    (SELECT (sum(votes), -sum(descending)) FROM sorted_voters WHERE generation = {generation:UInt64})
    = (SELECT (sum(votes), sum(power)) FROM proposal_states FINAL WHERE dao_id = {dao:String} AND NOT flagged) AS matches
