-- On which of some proposals some voters voted.
SELECT
    voter,
    proposal_ref
FROM (%s)
SETTINGS max_threads = 1
