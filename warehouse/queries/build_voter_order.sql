-- On one thread, as nobody waits for it: others do for the rest of the machine.
INSERT INTO ranked_voters (generation, descending, voter, rank, votes)
SELECT
    {generation:UInt64},
    descending,
    voter,
    rank,
    votes
FROM (%s)
SETTINGS max_threads = 1
