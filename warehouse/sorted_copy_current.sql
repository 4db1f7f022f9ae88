SELECT
    kind,
    subject,
    generation,
    revision
FROM orders FINAL
ORDER BY
    kind,
    subject
