-- Without FINAL, which would read the texts of neighbouring proposals too.
SELECT
    proposal_ref,
    provider,
    source_id,
    external_id,
    title,
    body,
    proposer_id,
    source_url,
    discussion_url,
    vote_type,
    state,
    choices,
    quorum_raw,
    quorum,
    created_at,
    updated_at,
    start_at,
    end_at,
    start_day_only,
    end_day_only,
    stated_scores,
    stated_total,
    stated_votes,
    flagged,
    upstream_id,
    upstream_type,
    upstream_status,
    milestone_types,
    milestone_times,
    milestone_hashes,
    snapshot_url,
    observed_at
FROM proposals
PREWHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
ORDER BY
    proposal_ref,
    version DESC
LIMIT 1 BY proposal_ref
