-- Columns renamed to the terms of the code. Columns of a sorting key, a projection or an
-- engine parameter cannot be renamed and keep their names: batches.sealed is 1 for a
-- committed batch. A table is renamed in the file that creates it, before its CREATE.

-- shard by: cityHash64(proposal_ref)
ALTER TABLE proposal_links RENAME COLUMN IF EXISTS touched_names TO changed_names;

-- shard by: cityHash64(proposal_ref)
ALTER TABLE proposal_links RENAME COLUMN IF EXISTS touched_topics TO changed_topics;

-- shard by: cityHash64(token_id)
ALTER TABLE tokens RENAME COLUMN IF EXISTS verifier TO token_hash;

-- shard by: cityHash64(token_id)
ALTER TABLE tokens RENAME COLUMN IF EXISTS previous_verifier TO previous_token_hash;
