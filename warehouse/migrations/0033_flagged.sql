-- Proposals that their provider marks as spam are in no list, sum or ranking unless asked for.

-- shard by: cityHash64(proposal_ref)
ALTER TABLE proposal_states ADD COLUMN IF NOT EXISTS flagged Bool;

-- shard by: cityHash64(proposal_ref)
ALTER TABLE listed_proposals ADD COLUMN IF NOT EXISTS flagged Bool;
