SELECT
    payment_id AS id,
    state,
    route_id,
    request_hash AS request,
    header_hash AS header,
    payer,
    pay_to,
    nonce,
    network,
    asset,
    symbol,
    amount,
    units,
    valid_before,
    claimed_at,
    changed_at,
    settled_at,
    tx_hash AS transaction,
    reason,
    attempts,
    unanswered,
    settlement,
    revision
FROM payments FINAL
WHERE valid_before > fromUnixTimestamp64Milli(toInt64(?))
    AND claimed_at >= fromUnixTimestamp64Milli(toInt64(?))
    AND (empty(?) OR state = ?)
    AND (empty(?) OR payer = ?)
ORDER BY
    claimed_at DESC,
    payment_id
LIMIT ?
