-- The tokens with powers of delegates, and how the feed includes them.
SELECT
    power.scope AS scope,
    sipHash128('token', power.scope) AS item,
    done.dao_id AS dao_id,
    done.rules_version AS rules_version,
    done.revision AS revision
FROM
(
    SELECT toString(scope) AS scope
    FROM delegate_power
    GROUP BY scope
) AS power
GLOBAL LEFT JOIN
(
    SELECT
        item,
        dao_id,
        rules_version,
        revision
    FROM feed_progress FINAL
) AS done ON sipHash128('token', power.scope) = done.item
ORDER BY scope
