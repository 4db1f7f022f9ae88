CREATE OR REPLACE VIEW $views.votes
(
    voter_identity String COMMENT 'The voter; an address is in lower case.',
    proposal_key String COMMENT 'The proposal.',
    dao_id String COMMENT 'The DAO.',
    vote_id String COMMENT 'Id of the ballot at the provider.',
    choice_key String COMMENT 'Key of the choice, of the first preference or largest weight where the ballot has several choices. Empty for a ballot without one.',
    voting_power Decimal(76, 18) COMMENT 'Voting power, exact.',
    voted_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When it was cast; NULL if the provider does not say.',
    transaction_hash String COMMENT 'The voting transaction; empty off chain.'
)
SQL SECURITY INVOKER
COMMENT 'The columns of ballots that version 0.1.0 had under this name. Use ballots.'
AS
SELECT
    voter_identity,
    proposal_key,
    dao_id,
    vote_id,
    ifNull(choice_key, '') AS choice_key,
    voting_power,
    voted_at,
    ifNull(transaction_hash, '') AS transaction_hash
FROM $views.ballots;
