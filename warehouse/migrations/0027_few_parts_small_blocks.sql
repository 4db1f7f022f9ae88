-- First pages, histories and profiles need a few rows of many places. By default, a block has
-- a column of dozens of granules, and each part costs as many blocks again: the parts of an
-- import stay for weeks where none follows. What is older than this age is merged, at most
-- once in as long, and up to the usual size of a part. Rows that are stored already get small
-- blocks with the next merge.
-- shard by: cityHash64(proposal_ref)
ALTER TABLE ballots MODIFY SETTING
    min_compress_block_size = 4096,
    max_compress_block_size = 8192,
    min_age_to_force_merge_seconds = 10800,
    enable_max_bytes_limit_for_min_age_to_force_merge = 1;

-- A set of pages reads most of this table, in which every publication leaves a part.
-- shard by: cityHash64(proposal_ref)
ALTER TABLE proposal_states MODIFY SETTING min_age_to_force_merge_seconds = 600;
