SELECT
    token.token_id AS token_id,
    token.name AS name,
    token.plan AS plan,
    token.scopes AS scopes,
    token.verifier AS verifier,
    token.previous_verifier AS previous_verifier,
    token.previous_until AS previous_until,
    token.limits AS limits,
    token.created_at AS created_at,
    token.expires_at AS expires_at,
    if(revoked.token_id = '', NULL, revoked.first_at) AS revoked_at
FROM (SELECT * FROM tokens FINAL) AS token
GLOBAL LEFT JOIN
(
    SELECT
        token_id,
        min(revoked_at) AS first_at
    FROM token_revocations
    GROUP BY token_id
) AS revoked ON token.token_id = revoked.token_id
ORDER BY
    token.created_at,
    token.token_id
