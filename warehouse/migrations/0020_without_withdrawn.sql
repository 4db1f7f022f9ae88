-- Queries that read ballots without merging them leave out the versions that withdraw one.
-- The index finds these few without reading the others.
-- shard by: cityHash64(proposal_ref)
ALTER TABLE ballots ADD INDEX IF NOT EXISTS withdrawn withdrawn TYPE minmax GRANULARITY 1;

-- shard by: cityHash64(proposal_ref)
ALTER TABLE ballots MATERIALIZE INDEX IF EXISTS withdrawn;

-- As in 0003, without the ballots that were withdrawn: an earlier one of the voter counts
-- again.
CREATE OR REPLACE VIEW latest_ballots AS
SELECT *
FROM ballots FINAL
WHERE NOT withdrawn
ORDER BY
    proposal_ref,
    voter,
    voted_at IS NULL,
    voted_at DESC,
    vote_id DESC
LIMIT 1 BY
    proposal_ref,
    voter;

-- The DAO that a withdrawn proposal belongs to; empty for every other. Its state has the
-- empty DAO: no sum, list or join of a DAO includes it.
-- shard by: cityHash64(proposal_ref)
ALTER TABLE proposal_states ADD COLUMN IF NOT EXISTS withdrawn_from String;
