INSERT INTO token_revocations (token_id)
VALUES (?)
