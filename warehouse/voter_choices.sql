-- The published choices of some voters' casts. The projection by voter lacks them; here the
-- order of the table leads to the few rows of each proposal.
SELECT
    voter,
    proposal_ref,
    vote_id,
    raw_choice
FROM ballots
WHERE (proposal_ref, voter) IN (SELECT proposal_ref, voter FROM wanted_casts)
ORDER BY
    proposal_ref,
    voter,
    vote_id,
    version DESC
LIMIT 1 BY
    proposal_ref,
    voter,
    vote_id
