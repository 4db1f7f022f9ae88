-- Proposals that state which proposal of a Governor they are, with that one, where the
-- warehouse has it: those among the wanted ones, and those of wanted ones.
WITH candidates AS
(
    SELECT
        proposal_ref,
        onchain_id
    FROM proposals
    WHERE onchain_id != ''
        AND ({every:Bool} OR proposal_ref IN (SELECT proposal_ref FROM wanted_proposals))

    UNION ALL

    SELECT
        proposal_ref,
        onchain_id
    FROM proposals
    WHERE onchain_id != ''
        AND onchain_id GLOBAL IN
        (
            SELECT external_id
            FROM proposals
            WHERE provider = 'governor'
                AND proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
        )
)
SELECT
    mirror.proposal_ref AS proposal_ref,
    mirror.provider AS provider,
    mirror.source_id AS source_id,
    mirror.external_id AS external_id,
    mirror.source_url AS source_url,
    original.proposal_ref AS original,
    original.source_id AS governor,
    original.withdrawn AS original_withdrawn
FROM
(
    SELECT
        proposal_ref,
        provider,
        source_id,
        external_id,
        source_url,
        onchain_id
    FROM proposals FINAL
    WHERE proposal_ref GLOBAL IN (SELECT proposal_ref FROM candidates)
        AND provider != 'governor'
        AND NOT withdrawn
) AS mirror
GLOBAL INNER JOIN
(
    SELECT
        proposal_ref,
        source_id,
        external_id,
        withdrawn
    FROM proposals FINAL
    -- The reference is that of record.ProposalRef.Hash.
    WHERE proposal_ref GLOBAL IN
    (
        SELECT toFixedString(substring(SHA256(concat('governor\0', onchain_id)), 1, 16), 16)
        FROM candidates
    )
) AS original ON original.external_id = mirror.onchain_id
ORDER BY
    original,
    proposal_ref
