-- The types of recorded events and signals about the proposals: the feed does not derive
-- these types again.
SELECT DISTINCT
    toFixedString(substring(SHA256(concat(provider, char(0), external_id)), 1, 16), 16) AS proposal_ref,
    dao_id,
    type
FROM
(
    SELECT
        toString(provider) AS provider,
        external_id,
        dao_id,
        toString(event_type) AS type
    FROM events FINAL
    WHERE provider != ''

    UNION ALL

    SELECT
        toString(provider),
        external_id,
        dao_id,
        toString(signal_type)
    FROM signals FINAL
    WHERE provider != ''
)
WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
ORDER BY
    proposal_ref,
    dao_id,
    type
