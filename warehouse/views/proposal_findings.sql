CREATE OR REPLACE VIEW $views.proposal_findings
(
    proposal_key String COMMENT 'The proposal.',
    dao_id String COMMENT 'The DAO.',
    rule String COMMENT 'Name of the rule; docs/rules.md lists them.',
    rule_version UInt32 COMMENT 'Version of the rule.',
    severity LowCardinality(String) COMMENT 'critical, high, unknown, medium, low or info. unknown may be as bad as any.',
    sentence String COMMENT 'What was found.',
    facts Array(String) COMMENT 'JSON pointers into the dossier of the proposal.'
)
DEFINER = CURRENT_USER SQL SECURITY DEFINER
COMMENT 'Findings about what proposals execute, one row a finding. Those about the vote, the proposer and the discussion are in /v2/proposals/:proposalKey/evidence alone.'
AS
SELECT
    state.proposal_key AS proposal_key,
    state.dao_id AS dao_id,
    JSONExtractString(finding, 'rule') AS rule,
    JSONExtract(finding, 'ruleVersion', 'UInt32') AS rule_version,
    JSONExtractString(finding, 'severity') AS severity,
    JSONExtractString(finding, 'sentence') AS sentence,
    JSONExtract(finding, 'facts', 'Array(String)') AS facts
FROM
(
    SELECT
        proposal_ref,
        arrayJoin(JSONExtractArrayRaw(findings)) AS finding
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
