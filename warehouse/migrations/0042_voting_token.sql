-- The token whose balances are voting power, eip155:<chain>:<address>; empty where upstream states none.
-- shard by: cityHash64(proposal_ref)
ALTER TABLE proposals ADD COLUMN IF NOT EXISTS voting_token String;
