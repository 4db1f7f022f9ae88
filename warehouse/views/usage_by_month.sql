CREATE OR REPLACE VIEW $views.usage_by_month
(
    token_id String COMMENT 'The token.',
    name String COMMENT 'Who has the token.',
    plan LowCardinality(String) COMMENT 'The plan of the token.',
    month String COMMENT 'The month in UTC, as 2026-01.',
    requests UInt64 COMMENT 'Requests.',
    charged UInt64 COMMENT 'Answers that count towards the month.',
    bytes UInt64 COMMENT 'Bytes of bodies.',
    payments UInt64 COMMENT 'Always 0: payment_ledger has answers that are paid for one by one.'
)
DEFINER = CURRENT_USER SQL SECURITY DEFINER
COMMENT 'Requests by token and month, with who it is: for billing.'
AS
SELECT
    used.token_id AS token_id,
    token.name AS name,
    token.plan AS plan,
    formatDateTime(toStartOfMonth(used.day), '%Y-%m') AS month,
    sum(used.requests) AS requests,
    sum(used.charged) AS charged,
    sum(used.bytes) AS bytes,
    sum(used.payments) AS payments
FROM $views.usage_by_day AS used
LEFT JOIN
(
    SELECT
        token_id,
        name,
        plan
    FROM $data.tokens FINAL
) AS token ON used.token_id = token.token_id
GROUP BY
    token_id,
    name,
    plan,
    month;
