-- On which of some proposals some voters voted.
SELECT
    proposal_ref,
    voter
FROM (%s)
SETTINGS max_threads = 1
