INSERT INTO signing_keys (name, key)
SELECT
    ?,
    ?
WHERE (SELECT count() FROM signing_keys WHERE name = ?) = 0
