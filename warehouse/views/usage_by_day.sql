CREATE OR REPLACE VIEW $views.usage_by_day
(
    token_id String COMMENT 'The token.',
    day Date COMMENT 'The day in UTC.',
    route LowCardinality(String) COMMENT 'Id of the route, as in /v2/meta/pricing.',
    requests UInt64 COMMENT 'Requests.',
    ok UInt64 COMMENT 'Answers with data.',
    not_modified UInt64 COMMENT 'Answers 304.',
    refused UInt64 COMMENT 'Requests that were refused (4xx).',
    failed UInt64 COMMENT 'Requests that failed (5xx).',
    charged UInt64 COMMENT 'Answers that count towards the month.',
    bytes UInt64 COMMENT 'Bytes of bodies.',
    payments UInt64 COMMENT 'Always 0: payment_ledger has answers that are paid for one by one.'
)
DEFINER = CURRENT_USER SQL SECURITY DEFINER
COMMENT 'Requests by token, day and route. As /v2/meta/usage, for every token: for billing.'
AS
SELECT
    token_id,
    day,
    route,
    sum(used.requests) AS requests,
    sum(used.ok) AS ok,
    sum(used.not_modified) AS not_modified,
    sum(used.refused) AS refused,
    sum(used.failed) AS failed,
    sum(used.charged) AS charged,
    sum(used.bytes) AS bytes,
    sum(used.payments) AS payments
FROM
(
    SELECT
        token_id,
        day,
        route,
        requests,
        ok,
        not_modified,
        refused,
        failed,
        charged,
        bytes,
        payments
    FROM $data.usage_counts FINAL
) AS used
GROUP BY
    token_id,
    day,
    route;
