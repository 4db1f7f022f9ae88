SELECT DISTINCT
    table,
    toUInt64(partition) AS generation
FROM system.parts
WHERE database = currentDatabase()
    AND table IN ('sorted_ballots', 'sorted_ballots_local', 'sorted_voters', 'sorted_voters_local')
    AND active
    AND generation < {before:UInt64}
    AND NOT has({current:Array(UInt64)}, generation)
ORDER BY
    table,
    generation
