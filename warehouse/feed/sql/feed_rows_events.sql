SELECT
    item,
    basis,
    at,
    event_id AS id,
    discovered_at,
    dao_id,
    proposal_ref,
    fingerprint
FROM
(
    SELECT
        item,
        basis,
        at,
        event_id,
        discovered_at,
        dao_id,
        proposal_ref,
        fingerprint,
        gone
    FROM feed_events
    WHERE item IN (SELECT proposal_ref FROM wanted_proposals)
    ORDER BY
        item,
        basis,
        at,
        event_id,
        revision DESC
    LIMIT 1 BY
        item,
        basis,
        at,
        event_id
)
WHERE gone = 0
ORDER BY
    item,
    basis,
    at,
    event_id
