INSERT INTO ranked_voters (generation, descending, voter, rank, votes)
SELECT
    {generation:UInt64},
    descending,
    voter,
    rank,
    votes
FROM (%s)
