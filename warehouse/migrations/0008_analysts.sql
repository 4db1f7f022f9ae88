-- The answers of the API as views, under the names of the API.

-- As /v2/proposals/:proposalKey/votes/summary.
CREATE VIEW IF NOT EXISTS vote_summaries AS
SELECT
    state.proposal_key AS proposal_key,
    state.dao_id AS dao_id,
    proposal.title AS title,
    state.lifecycle AS lifecycle_status,
    state.outcome AS outcome,
    state.vote_ready AS ready,
    state.votes AS votes,
    state.power AS voting_power,
    state.choice_keys AS choice_keys,
    state.choice_labels AS choice_labels,
    state.choice_votes AS choice_votes,
    state.choice_powers AS choice_voting_powers,
    state.coverage AS coverage_status
FROM (SELECT * FROM proposal_states FINAL) AS state
GLOBAL INNER JOIN
(
    SELECT
        proposal_ref,
        title
    FROM proposals FINAL
) AS proposal ON state.proposal_ref = proposal.proposal_ref;

-- As /v2/proposals/:proposalKey/votes and /v2/voters/:voterIdentity/votes: the one
-- ballot of each voter on each proposal.
CREATE VIEW IF NOT EXISTS votes AS
SELECT
    ballot.voter AS voter_identity,
    state.proposal_key AS proposal_key,
    state.dao_id AS dao_id,
    ballot.vote_id AS vote_id,
    ballot.choice_key AS choice_key,
    ballot.power AS voting_power,
    ballot.voted_at AS voted_at,
    ballot.tx_hash AS transaction_hash
FROM latest_ballots AS ballot
GLOBAL INNER JOIN
(
    SELECT
        proposal_ref,
        proposal_key,
        dao_id
    FROM proposal_states FINAL
) AS state ON ballot.proposal_ref = state.proposal_ref;

-- The ballots that a later one of the same voter replaced. No answer shows them.
CREATE VIEW IF NOT EXISTS superseded_ballots AS
SELECT
    proposal_ref,
    voter,
    vote_id,
    choice_key,
    power,
    voted_at
FROM
(
    SELECT
        *,
        row_number() OVER (
            PARTITION BY proposal_ref, voter
            ORDER BY voted_at IS NULL, voted_at DESC, vote_id DESC
        ) AS place
    FROM ballots FINAL
)
WHERE place > 1;

-- As participation in /v2/daos/:daoId.
CREATE VIEW IF NOT EXISTS dao_participation AS
SELECT
    dao_id,
    uniqExact(voter_identity) AS unique_voters,
    count() AS total_votes,
    sum(voting_power) AS total_voting_power
FROM votes
GROUP BY dao_id;

-- As /v2/daos/:daoId/voters.
CREATE VIEW IF NOT EXISTS dao_voters AS
SELECT
    dao_id,
    row_number() OVER (PARTITION BY dao_id ORDER BY total_voting_power DESC, voter_identity) AS rank,
    voter_identity,
    total_voting_power,
    vote_count
FROM
(
    SELECT
        dao_id,
        voter_identity,
        sum(voting_power) AS total_voting_power,
        count() AS vote_count
    FROM votes
    GROUP BY
        dao_id,
        voter_identity
);

-- As daos in /v2/voters/:voterIdentity.
CREATE VIEW IF NOT EXISTS voter_daos AS
SELECT
    voter_identity,
    dao_id,
    count() AS vote_count,
    sum(voting_power) AS total_voting_power,
    min(voted_at) AS first_vote_at,
    max(voted_at) AS last_vote_at
FROM votes
GROUP BY
    voter_identity,
    dao_id;

-- As /v2/daos/:daoId/timeline, without empty months.
CREATE VIEW IF NOT EXISTS dao_timelines AS
SELECT
    dao_id,
    'votes_cast' AS metric,
    formatDateTime(toStartOfMonth(assumeNotNull(voted_at)), '%Y-%m') AS month,
    count() AS value
FROM votes
WHERE voted_at IS NOT NULL
GROUP BY
    dao_id,
    month

UNION ALL

SELECT
    dao_id,
    'proposals_created' AS metric,
    formatDateTime(toStartOfMonth(assumeNotNull(created_at)), '%Y-%m') AS month,
    count() AS value
FROM proposal_states FINAL
WHERE created_at IS NOT NULL
GROUP BY
    dao_id,
    month;
