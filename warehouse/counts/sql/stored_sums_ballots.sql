-- A fingerprint of the stored ballots of each proposal, and of the statement that counts them.
-- That of a record covers its content, keys included. Rows that a merge removes change it too,
-- which costs a count.
SELECT
    proposal_ref,
    cityHash64({statement:UInt64}, count(), sum(cityHash64(ballots.fingerprint, version))) AS fingerprint
FROM ballots
WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
GROUP BY proposal_ref
