SELECT
    kind,
    subject,
    generation,
    revision
FROM sorted_copies FINAL
ORDER BY
    kind,
    subject
