SELECT
    item,
    detected_at AS at,
    signal_id AS id,
    dao_id,
    proposal_ref,
    fingerprint
FROM
(
    SELECT
        item,
        detected_at,
        signal_id,
        dao_id,
        proposal_ref,
        fingerprint,
        gone
    FROM feed_signals
    WHERE item IN (SELECT proposal_ref FROM wanted_proposals)
    ORDER BY
        item,
        detected_at,
        signal_id,
        revision DESC
    LIMIT 1 BY
        item,
        detected_at,
        signal_id
)
WHERE gone = 0
ORDER BY
    item,
    detected_at,
    signal_id
