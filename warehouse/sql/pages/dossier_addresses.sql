-- What a DAO's votes and proposals before a time know of some addresses.
SELECT
    address,
    sum(voted_on) AS ballots,
    sum(proposed) AS proposals
FROM
(
    SELECT
        voter AS address,
        uniqExact(proposal_ref) AS voted_on,
        toUInt64(0) AS proposed
    FROM ballots FINAL
    WHERE voter IN {addresses:Array(String)}
        AND NOT withdrawn
        AND proposal_ref GLOBAL IN
        (
            SELECT proposal_ref
            FROM proposal_states FINAL
            WHERE dao_id = {dao:String} AND NOT flagged AND end_at < fromUnixTimestamp64Milli({before:Int64})
        )
    GROUP BY voter

    UNION ALL

    SELECT
        proposer_id,
        toUInt64(0),
        count()
    FROM proposals FINAL
    WHERE proposer_id IN {addresses:Array(String)}
        AND NOT withdrawn
        AND proposal_ref GLOBAL IN
        (
            SELECT proposal_ref
            FROM proposal_states FINAL
            WHERE dao_id = {dao:String} AND NOT flagged AND ifNull(created_at, start_at) < fromUnixTimestamp64Milli({before:Int64})
        )
    GROUP BY proposer_id
)
GROUP BY address
