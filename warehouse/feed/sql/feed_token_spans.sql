-- The spans of a token from a block on. What is withdrawn counts: events of it may be stored. With block 0 in one
-- condition with the scope, the index is not used.
SELECT
    sipHash128('token', {scope:String}, intDiv(block, {span:UInt64})) AS item,
    intDiv(block, {span:UInt64}) * {span:UInt64} AS first_block,
    first_block + {span:UInt64} AS end_block,
    count() AS changes
FROM delegate_power
PREWHERE scope = {scope:String}
WHERE block >= intDiv({block:UInt64}, {span:UInt64}) * {span:UInt64}
GROUP BY intDiv(block, {span:UInt64})
ORDER BY first_block
