INSERT INTO sorted_copies (kind, subject, generation, revision, copy_format, fingerprint)
VALUES (?, ?, ?, ?, ?, ?)
