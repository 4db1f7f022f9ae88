-- One thread: no caller waits for this statement.
INSERT INTO sorted_voters (generation, descending, voter, rank, votes)
SELECT
    {generation:UInt64},
    descending,
    voter,
    rank,
    votes
FROM (%s)
SETTINGS max_threads = 1
