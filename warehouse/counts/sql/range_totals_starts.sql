-- Where ranges of voters begin: at one of so many voters by hash, so that ranges have about as
-- many each, however many vote and whatever their identities are. A text that ends within a
-- character is no parameter, and one that ends with zeros is no other number without them.
-- One thread: no caller waits for this statement.
SELECT DISTINCT substring(voter, 1, {bytes:UInt8}) AS start
FROM ballots
WHERE %s
    AND bitAnd(cityHash64(voter), {mask:UInt64}) = 0
    AND start != ''
    AND isValidUTF8(start)
    AND NOT endsWith(start, '\0')
ORDER BY start
SETTINGS max_threads = 1
