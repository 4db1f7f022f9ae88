-- Queries in one order, or about few proposals or DAOs, read projections. These are in the
-- same parts as the rows, so none is missing after a crash. Existing rows get theirs in
-- the background; until then they are read without.

-- shard by: cityHash64(proposal_ref)
ALTER TABLE listed_proposals MODIFY SETTING deduplicate_merge_projection_mode = 'rebuild';

-- A page ends with the first rows that match its filter, however many rows there are.
-- shard by: cityHash64(proposal_ref)
ALTER TABLE listed_proposals
    ADD PROJECTION IF NOT EXISTS by_update (SELECT * ORDER BY updated_at, proposal_key, revision),
    ADD PROJECTION IF NOT EXISTS by_creation (SELECT * ORDER BY created_at, proposal_key, revision),
    ADD PROJECTION IF NOT EXISTS by_end (SELECT * ORDER BY lifecycle, end_at, proposal_key, revision),
    ADD PROJECTION IF NOT EXISTS by_dao (SELECT * ORDER BY dao_id, updated_at, proposal_key, revision);

-- shard by: cityHash64(proposal_ref)
ALTER TABLE listed_proposals
    MATERIALIZE PROJECTION IF EXISTS by_update,
    MATERIALIZE PROJECTION IF EXISTS by_creation,
    MATERIALIZE PROJECTION IF EXISTS by_end,
    MATERIALIZE PROJECTION IF EXISTS by_dao;

-- Which proposals have ballots, without reading the ballots.
-- shard by: cityHash64(proposal_ref)
ALTER TABLE ballots
    ADD PROJECTION IF NOT EXISTS by_proposal (SELECT proposal_ref, count() GROUP BY proposal_ref);

-- shard by: cityHash64(proposal_ref)
ALTER TABLE ballots MATERIALIZE PROJECTION IF EXISTS by_proposal;

-- shard by: cityHash64(proposal_ref)
ALTER TABLE proposals MODIFY SETTING deduplicate_merge_projection_mode = 'rebuild';

-- Which proposals have a page or link one, without reading the others.
-- shard by: cityHash64(proposal_ref)
ALTER TABLE proposals
    ADD PROJECTION IF NOT EXISTS by_page (SELECT proposal_ref, page ORDER BY page),
    ADD PROJECTION IF NOT EXISTS by_linked_page (SELECT proposal_ref, linked_page ORDER BY linked_page);

-- shard by: cityHash64(proposal_ref)
ALTER TABLE proposals
    MATERIALIZE PROJECTION IF EXISTS by_page,
    MATERIALIZE PROJECTION IF EXISTS by_linked_page;

-- shard by: cityHash64(proposal_ref)
ALTER TABLE proposal_states MODIFY SETTING deduplicate_merge_projection_mode = 'rebuild';

-- The totals of a DAO read its own states; the passing of time changes few proposals.
-- shard by: cityHash64(proposal_ref)
ALTER TABLE proposal_states
    ADD PROJECTION IF NOT EXISTS by_dao (SELECT * ORDER BY dao_id, proposal_ref),
    ADD INDEX IF NOT EXISTS next_change next_change_at TYPE minmax GRANULARITY 1;

-- shard by: cityHash64(proposal_ref)
ALTER TABLE proposal_states
    MATERIALIZE PROJECTION IF EXISTS by_dao,
    MATERIALIZE INDEX IF EXISTS next_change;
