-- Hexadecimal identities of 41 to 64 digits, such as those of Starknet, have 64. A ballot of a
-- voter in a shorter spelling is written again under this one, and withdrawn under the other.
-- shard by: cityHash64(proposal_ref)
INSERT INTO ballots
SELECT * REPLACE (concat('0x', leftPad(substring(voter, 3), 64, '0')) AS voter)
FROM
(
    SELECT *
    FROM ballots FINAL
    WHERE match(voter, '^0x[0-9a-f]{41,63}$') AND NOT withdrawn
);

-- shard by: cityHash64(proposal_ref)
INSERT INTO ballots
SELECT * REPLACE (true AS withdrawn, version + 1 AS version)
FROM
(
    SELECT *
    FROM ballots FINAL
    WHERE match(voter, '^0x[0-9a-f]{41,63}$') AND NOT withdrawn
);
