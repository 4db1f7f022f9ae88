-- All that a history or a profile shows of a voter's ballots, in granules of about what one
-- voter has: by_voter in version 0.1.0 lacked the published choice and withdrawals. It
-- stays in tables that have it until a later release, since rows get the new one in the
-- background.
-- shard by: cityHash64(proposal_ref)
ALTER TABLE ballots ADD PROJECTION IF NOT EXISTS votes_of_voters
(
    SELECT
        voter,
        proposal_ref,
        vote_id,
        power,
        choice_key,
        raw_choice,
        voted_at,
        tx_hash,
        withdrawn,
        version
    ORDER BY
        voter,
        proposal_ref
) WITH SETTINGS (index_granularity = 512);

-- shard by: cityHash64(proposal_ref)
ALTER TABLE ballots MATERIALIZE PROJECTION IF EXISTS votes_of_voters;
