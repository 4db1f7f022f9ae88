CREATE OR REPLACE VIEW $views.payment_ledger
(
    booked_at DateTime64(3, 'UTC') COMMENT 'When it was settled; for an unknown outcome, when it last changed.',
    state LowCardinality(String) COMMENT 'settled, or unknown while the outcome is.',
    amount Decimal(76, 18) COMMENT 'Amount in the token of the payment, exact.',
    symbol LowCardinality(String) COMMENT 'Symbol of the token.',
    network LowCardinality(String) COMMENT 'Network, as eip155:8453.',
    asset LowCardinality(String) COMMENT 'Contract of the token.',
    payer String COMMENT 'Who paid.',
    pay_to LowCardinality(String) COMMENT 'Who was paid.',
    transaction_hash String COMMENT 'The transaction; empty while unknown.',
    route_id LowCardinality(String) COMMENT 'What was paid for, as in /v2/meta/pricing.',
    payment_id String COMMENT 'Id of the payment.'
)
DEFINER = CURRENT_USER SQL SECURITY DEFINER
COMMENT 'Income from payments for single requests: those settled, and those with an unknown outcome.'
AS
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
FROM $data.payments FINAL
WHERE state IN ('settled', 'unknown');
