-- What upstream has taken back: a vote that a reorganization removed, a proposal or topic
-- that was deleted. It is a later version of the same key; no answer includes it.
-- shard by: cityHash64(proposal_ref)
ALTER TABLE ballots ADD COLUMN IF NOT EXISTS withdrawn Bool AFTER reason;

-- origin names what states the proposal: a block with its hash, or a message of the hub.
-- provisional marks what a block states that is not final. quorum_choices are the choices
-- that count towards the quorum, where the Governor has a rule of its own. onchain_id is
-- the id at provider governor, for the same proposal at Tally too.
-- shard by: cityHash64(proposal_ref)
ALTER TABLE proposals
    ADD COLUMN IF NOT EXISTS origin String AFTER milestone_hashes,
    ADD COLUMN IF NOT EXISTS provisional Bool AFTER origin,
    ADD COLUMN IF NOT EXISTS quorum_choices Array(LowCardinality(String)) AFTER provisional,
    ADD COLUMN IF NOT EXISTS onchain_id String AFTER quorum_choices,
    ADD COLUMN IF NOT EXISTS withdrawn Bool AFTER onchain_id;

-- shard by: cityHash64(host, external_id)
ALTER TABLE topics ADD COLUMN IF NOT EXISTS withdrawn Bool AFTER visible;
