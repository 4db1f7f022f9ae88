-- The ledger: the latest state of each payment submitted for settlement. amount is in
-- tokens, units in the smallest unit of the token.
-- shard by: cityHash64(payment_id)
CREATE TABLE IF NOT EXISTS payments
(
    payment_id   String,
    state        LowCardinality(String),
    route_id     LowCardinality(String),
    request_hash String,
    header_hash  String,
    payer        String,
    pay_to       LowCardinality(String),
    nonce        String,
    network      LowCardinality(String),
    asset        LowCardinality(String),
    symbol       LowCardinality(String),
    amount       Decimal(76, 18),
    units        String,
    valid_before DateTime64(3, 'UTC'),
    claimed_at   DateTime64(3, 'UTC'),
    changed_at   DateTime64(3, 'UTC'),
    settled_at   Nullable(DateTime64(3, 'UTC')),
    tx_hash      String,
    reason       String,
    attempts     UInt32,
    unanswered   Bool,
    -- The request to submit again if necessary; empty once the outcome is known.
    settlement   String,
    revision     UInt64
)
ENGINE = ReplacingMergeTree(revision)
ORDER BY payment_id;

-- Income for accounting: settled payments, and those with an unknown outcome.
CREATE VIEW IF NOT EXISTS payment_ledger AS
SELECT
    coalesce(settled_at, changed_at) AS booked_at,
    state,
    amount,
    symbol,
    network,
    asset,
    payer,
    pay_to,
    tx_hash AS transaction_hash,
    route_id,
    payment_id
FROM payments FINAL
WHERE state IN ('settled', 'unknown');
