-- Files that lacked ballots of a proposal: lines that are no ballot, or the end. last_ballot identifies the file: the
-- hash of proposal and voter of its last ballot, 0 without any. A file that has this ballot and lacks none of the proposal closes the gap.
-- shard by: cityHash64(proposal_ref)
CREATE TABLE IF NOT EXISTS ballot_gaps
(
    proposal_ref FixedString(16),
    last_ballot  UInt64,
    open         Bool,
    import_id    UUID,
    version      UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (proposal_ref, last_ballot);

-- Whether a later import lacked records of the source: lines that are no record, or the end of a file.
-- shard by: cityHash64(source_id)
ALTER TABLE syncs ADD COLUMN IF NOT EXISTS lacks Bool;
