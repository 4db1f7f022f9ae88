-- Pages of several proposals with few ballots, without reading in order, which merges
-- streams of few rows each.
SELECT
    page,
    vote_id,
    voter AS voter_identity,
    if(startsWith(voter, '0x'), voter, '') AS voter_address,
    choice_key,
    raw_choice,
    power AS voting_power,
    voted_at,
    tx_hash AS transaction_hash
FROM (%[3]s) AS ballot
INNER JOIN wanted_pages AS wanted ON ballot.proposal_ref = wanted.proposal_ref
WHERE first
    OR %[1]s < %[2]s
    OR %[1]s = %[2]s
        AND voter < after_voter
ORDER BY
    page,
    %[1]s DESC,
    voter DESC
LIMIT {limit:UInt64} BY page
SETTINGS
    optimize_read_in_order = 0,
    max_threads = 1
