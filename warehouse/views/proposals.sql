-- The proposal is on the left side of the join: a condition on its key or DAO reaches it as
-- a runtime filter, and the texts of the others are not read.
CREATE OR REPLACE VIEW $views.proposals
(
    proposal_key String COMMENT 'Key of the proposal, the same in all views and in the API.',
    dao_id String COMMENT 'The DAO.',
    provider LowCardinality(String) COMMENT 'snapshot; or governor or tally for on-chain votes, as read from the chain or from Tally.',
    external_id String COMMENT 'Id of the proposal at the provider.',
    title Nullable(String) COMMENT 'Title; where the provider states none, the first heading of the text or its first 80 characters.',
    body_text Nullable(String) COMMENT 'The whole text.',
    proposer_id Nullable(String) COMMENT 'Who proposed it; an address is in lower case.',
    source_url Nullable(String) COMMENT 'Its page at the provider.',
    discussion_url Nullable(String) COMMENT 'The page of its discussion.',
    vote_type LowCardinality(String) COMMENT 'single-choice, basic, approval, weighted, quadratic, ranked-choice or copeland; empty if the provider does not say.',
    lifecycle_status LowCardinality(String) COMMENT 'pending, active or closed.',
    outcome LowCardinality(String) COMMENT 'passed, failed, executed, canceled or unknown.',
    choice_keys Array(String) COMMENT 'Keys of the choices, in order.',
    choice_labels Array(String) COMMENT 'Texts of the choices, in the same order.',
    quorum_raw Nullable(String) COMMENT 'The quorum as published, in the unit of the provider; NULL or 0: none.',
    created_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When the proposal was created, or else when voting starts.',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When it last changed.',
    start_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When voting starts.',
    end_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When voting ends.',
    last_voted_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Latest known time of a ballot that counts.',
    coverage_status LowCardinality(String) COMMENT 'How many of the ballots at the provider are stored: complete, partial, backfilling or unavailable.',
    quality_flags Array(LowCardinality(String)) COMMENT 'What is known to be wrong or missing, as in /v2/proposals/:proposalKey/evidence.',
    flagged Bool COMMENT 'Whether the provider marks the proposal as spam: daos, dao_participation, dao_timelines, dao_voters, voter_daos and voters leave it out.'
)
DEFINER = CURRENT_USER SQL SECURITY DEFINER
COMMENT 'The proposals, one row each. As /v2/proposals and /v2/proposals/:proposalKey.'
AS
SELECT
    state.proposal_key AS proposal_key,
    state.dao_id AS dao_id,
    state.provider AS provider,
    state.external_id AS external_id,
    nullIf(if(empty(state.derived_title), record.title, state.derived_title), '') AS title,
    nullIf(record.body, '') AS body_text,
    nullIf(record.proposer_id, '') AS proposer_id,
    nullIf(record.source_url, '') AS source_url,
    nullIf(record.discussion_url, '') AS discussion_url,
    record.vote_type AS vote_type,
    state.lifecycle AS lifecycle_status,
    state.outcome AS outcome,
    state.choice_keys AS choice_keys,
    state.choice_labels AS choice_labels,
    nullIf(record.quorum_raw, '') AS quorum_raw,
    state.created_at AS created_at,
    state.updated_at AS updated_at,
    state.start_at AS start_at,
    state.end_at AS end_at,
    state.last_voted_at AS last_voted_at,
    state.coverage AS coverage_status,
    state.quality_flags AS quality_flags,
    state.flagged AS flagged
FROM
(
    SELECT
        proposal_ref,
        title,
        body,
        proposer_id,
        source_url,
        discussion_url,
        vote_type,
        quorum_raw
    FROM $data.proposals
    WHERE version < (SELECT ifNull(minOrNull(first_version), toUInt64(-1)) FROM $data.batches FINAL WHERE sealed = 0)
    ORDER BY
        proposal_ref,
        version DESC
    LIMIT 1 BY proposal_ref
) AS record
INNER JOIN
(
    SELECT
        proposal_ref,
        proposal_key,
        dao_id,
        provider,
        external_id,
        lifecycle,
        outcome,
        coverage,
        choice_keys,
        choice_labels,
        created_at,
        updated_at,
        start_at,
        end_at,
        last_voted_at,
        quality_flags,
        flagged,
        derived_title
    FROM $data.proposal_states FINAL
    WHERE dao_id != ''
) AS state ON record.proposal_ref = state.proposal_ref;
