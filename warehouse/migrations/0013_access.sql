-- Partner tokens: a hash that recognizes each token, never the token itself. Each change is
-- a version of the whole row.
-- shard by: cityHash64(token_id)
CREATE TABLE IF NOT EXISTS tokens
(
    token_id          String,
    name              String,
    plan              LowCardinality(String),
    scopes            Array(LowCardinality(String)),
    -- SHA-256 of the token, and of the one before its rotation.
    verifier          FixedString(32),
    previous_verifier FixedString(32),
    previous_until    DateTime64(3, 'UTC'),
    -- Limits in place of the plan's: requests a month, then requests a minute and burst of
    -- the standard and of the detail bucket; empty for those of the plan.
    limits            Array(UInt32),
    created_at        DateTime64(3, 'UTC'),
    expires_at        Nullable(DateTime64(3, 'UTC')),
    changed_at        DateTime64(6, 'UTC') DEFAULT now64(6, 'UTC')
)
ENGINE = ReplacingMergeTree(changed_at)
ORDER BY token_id;

-- Revocations have a table of their own, so that no version of a token can undo one.
-- shard by: cityHash64(token_id)
CREATE TABLE IF NOT EXISTS token_revocations
(
    token_id   String,
    revoked_at DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC')
)
ENGINE = MergeTree
ORDER BY (token_id, revoked_at);

-- Requests by token, day and route. Each API node counts from its start (its session) and
-- writes its totals so far: writing twice counts once, and the next write repairs a lost
-- one. The token is empty for clients that pay for each request.
-- shard by: cityHash64(token_id)
CREATE TABLE IF NOT EXISTS usage_counts
(
    token_id     String,
    day          Date,
    route        LowCardinality(String),
    session      String,
    requests     UInt64,
    ok           UInt64,
    not_modified UInt64,
    refused      UInt64,
    failed       UInt64,
    -- Answers that count towards the month, and bytes of bodies.
    charged      UInt64,
    bytes        UInt64,
    payments     UInt64
)
ENGINE = ReplacingMergeTree(requests)
PARTITION BY toYYYYMM(day)
ORDER BY (token_id, day, route, session);

-- For billing: one row a token, day and route.
CREATE VIEW IF NOT EXISTS usage_by_day AS
SELECT
    token_id,
    day,
    route,
    sum(requests) AS requests,
    sum(ok) AS ok,
    sum(not_modified) AS not_modified,
    sum(refused) AS refused,
    sum(failed) AS failed,
    sum(charged) AS charged,
    sum(bytes) AS bytes,
    sum(payments) AS payments
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
    FROM usage_counts FINAL
)
GROUP BY
    token_id,
    day,
    route;

-- For billing: one row a token and month, with who it is.
CREATE VIEW IF NOT EXISTS usage_by_month AS
SELECT
    used.token_id AS token_id,
    token.name AS name,
    token.plan AS plan,
    formatDateTime(toStartOfMonth(used.day), '%Y-%m') AS month,
    sum(used.requests) AS requests,
    sum(used.charged) AS charged,
    sum(used.bytes) AS bytes,
    sum(used.payments) AS payments
FROM usage_by_day AS used
GLOBAL LEFT JOIN
(
    SELECT
        token_id,
        name,
        plan
    FROM tokens FINAL
) AS token ON used.token_id = token.token_id
GROUP BY
    token_id,
    name,
    plan,
    month;
