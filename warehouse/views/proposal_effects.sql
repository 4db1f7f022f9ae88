CREATE OR REPLACE VIEW $views.proposal_effects
(
    proposal_key String COMMENT 'The proposal.',
    dao_id String COMMENT 'The DAO.',
    effect LowCardinality(String) COMMENT 'transfer, permission or setting.',
    chain Nullable(String) COMMENT 'The chain of a transfer; NULL if unknown.',
    token Nullable(String) COMMENT 'The token of a transfer; NULL for the native one.',
    symbol Nullable(String) COMMENT 'Its symbol; NULL if unknown.',
    decimals Nullable(UInt16) COMMENT 'Its decimals; NULL if unknown: the amount is in smallest units then.',
    amount Nullable(Decimal(76, 18)) COMMENT 'Sum over the calls; NULL for all there is, and where it does not fit.',
    amount_text Nullable(String) COMMENT 'The same with every digit.',
    sender Nullable(String) COMMENT 'Whose money; NULL for that of the executor.',
    recipient Nullable(String) COMMENT 'To whom money or power goes; NULL if the call does not say.',
    target Nullable(String) COMMENT 'The contract of a permission or a setting.',
    change LowCardinality(Nullable(String)) COMMENT 'Of a permission: granted or taken.',
    subject Nullable(String) COMMENT 'The role or function of a permission, or the function of a setting.',
    old_value Nullable(String) COMMENT 'Of a setting: the value that an executed proposal set before; NULL if none did.',
    new_value Nullable(String) COMMENT 'Of a setting: the new value.',
    action Nullable(String) COMMENT 'JSON pointer of the call in the dossier; NULL for transfers, which are sums.'
)
DEFINER = CURRENT_USER SQL SECURITY DEFINER
COMMENT 'What the actions of proposals come to, calls inside included, one row a sum of money, a permission or a setting.'
AS
SELECT
    state.proposal_key AS proposal_key,
    state.dao_id AS dao_id,
    multiIf(JSONHas(one, 'change'), 'permission', JSONHas(one, 'new'), 'setting', 'transfer') AS effect,
    JSONExtract(one, 'chain', 'Nullable(String)') AS chain,
    JSONExtract(one, 'token', 'Nullable(String)') AS token,
    JSONExtract(one, 'symbol', 'Nullable(String)') AS symbol,
    JSONExtract(one, 'decimals', 'Nullable(UInt16)') AS decimals,
    toDecimal256OrNull(amount_text, 18) AS amount,
    JSONExtract(one, 'amount', 'Nullable(String)') AS amount_text,
    JSONExtract(one, 'from', 'Nullable(String)') AS sender,
    JSONExtract(one, 'to', 'Nullable(String)') AS recipient,
    JSONExtract(one, 'on', 'Nullable(String)') AS target,
    JSONExtract(one, 'change', 'Nullable(String)') AS change,
    coalesce(JSONExtract(one, 'what', 'Nullable(String)'), JSONExtract(one, 'function', 'Nullable(String)')) AS subject,
    JSONExtract(one, 'old', 'Nullable(String)') AS old_value,
    JSONExtract(one, 'new', 'Nullable(String)') AS new_value,
    JSONExtract(one, 'action', 'Nullable(String)') AS action
FROM
(
    SELECT
        proposal_ref,
        arrayJoin(JSONExtractArrayRaw(effects)) AS one
    FROM $data.proposal_effects FINAL
) AS stored
INNER JOIN
(
    SELECT
        proposal_ref,
        proposal_key,
        dao_id
    FROM $data.proposal_states FINAL
    WHERE dao_id != ''
) AS state ON stored.proposal_ref = state.proposal_ref;
