INSERT INTO sorted_copies (kind, subject, generation, revision)
VALUES (?, ?, ?, ?)
