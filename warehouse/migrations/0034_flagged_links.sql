-- Topics do not name spam among the proposals that they are linked with; an address still
-- resolves to it.

-- shard by: cityHash64(proposal_ref)
ALTER TABLE proposal_links ADD COLUMN IF NOT EXISTS flagged Bool;
