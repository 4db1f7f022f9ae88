-- The published choices of a voter's casts on some proposals. The projection by voter lacks
-- them; here the order of the table leads to the few rows of each proposal.
SELECT
    proposal_ref,
    vote_id,
    raw_choice
FROM ballots
WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
    AND voter = {voter:String}
ORDER BY
    proposal_ref,
    vote_id,
    version DESC
LIMIT 1 BY
    proposal_ref,
    vote_id
