-- The page on Snapshot that a proposal of a Governor states in addition to its topic.
-- shard by: cityHash64(proposal_ref)
ALTER TABLE proposals ADD COLUMN IF NOT EXISTS snapshot_url String;

-- The proposal's own page, in the form in which proposals of other providers link it. A
-- default, so that existing proposals have it too.
-- shard by: cityHash64(proposal_ref)
ALTER TABLE proposals ADD COLUMN IF NOT EXISTS page String DEFAULT
    if(provider = 'snapshot',
        concat('snapshot/', external_id),
        concat('tally/', source_id, '/', extract(source_url, '/proposal/([^/?#]+)')));

-- The page of the same proposal at another provider; empty for none.
-- shard by: cityHash64(proposal_ref)
ALTER TABLE proposals ADD COLUMN IF NOT EXISTS linked_page String DEFAULT
    multiIf(
        match(if(snapshot_url = '', discussion_url, snapshot_url), '^https?://(www[.])?snapshot[.](org|box|page)/.*/proposal/'),
        concat('snapshot/', extract(if(snapshot_url = '', discussion_url, snapshot_url), '/proposal/([^/?#]+)')),
        match(discussion_url, '^https?://(www[.])?tally[.]xyz/gov/[^/]+/proposal/'),
        concat('tally/', extract(discussion_url, '/gov/([^/?#]+)/'), '/', extract(discussion_url, '/proposal/([^/?#]+)')),
        '');
