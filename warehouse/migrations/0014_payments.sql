-- The ledger of payments: one row a payment that was handed over for settlement, its
-- latest state. Amounts are of the token, units of its smallest part.
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
    -- What may have to be handed over again; empty once the outcome is known.
    settlement   String,
    revision     UInt64
)
ENGINE = ReplacingMergeTree(revision)
ORDER BY payment_id;

-- What came in, for those who keep the books: settled payments, and those of which
-- nobody knows whether they were.
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
