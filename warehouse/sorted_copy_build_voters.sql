-- On one thread: nobody waits for it.
INSERT INTO sorted_voters (generation, descending, voter, rank, votes)
SELECT
    {generation:UInt64},
    descending,
    voter,
    rank,
    votes
FROM (%s)
SETTINGS max_threads = 1
