-- Which proposals state a given proposal of a Governor, without reading the others.
-- shard by: cityHash64(proposal_ref)
ALTER TABLE proposals
    ADD PROJECTION IF NOT EXISTS by_onchain_id (SELECT proposal_ref, onchain_id ORDER BY onchain_id);

-- shard by: cityHash64(proposal_ref)
ALTER TABLE proposals MATERIALIZE PROJECTION IF EXISTS by_onchain_id;
