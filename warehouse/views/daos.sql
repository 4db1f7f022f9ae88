-- A declared DAO has its declared name. A source that no DAO claims is a DAO of its own, with
-- its name or else its id: Catalog.addUnclaimedSources.
CREATE OR REPLACE VIEW $views.daos
(
    dao_id String COMMENT 'Id of the DAO, the same in all views and in the API.',
    name String COMMENT 'Name of the DAO.',
    proposal_counts_total UInt64 COMMENT 'Proposals.',
    proposal_counts_active UInt64 COMMENT 'Proposals that can be voted on.',
    proposal_counts_pending UInt64 COMMENT 'Proposals whose voting has not started.',
    proposal_counts_closed UInt64 COMMENT 'Proposals whose voting has ended.',
    outcomes_passed UInt64 COMMENT 'Proposals that passed.',
    outcomes_failed UInt64 COMMENT 'Proposals that failed.',
    outcomes_executed UInt64 COMMENT 'Proposals that were executed.',
    outcomes_canceled UInt64 COMMENT 'Proposals that were canceled.',
    outcomes_unknown UInt64 COMMENT 'Proposals without a known outcome.',
    latest_proposal_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When the latest proposal was created.',
    latest_vote_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Latest known time of a ballot.',
    flagged Bool COMMENT 'Whether the provider marks all spaces of the DAO as spam; its proposals are counted nowhere.'
)
DEFINER = CURRENT_USER SQL SECURITY DEFINER
COMMENT 'The DAOs, one row each. As /v2/daos and /v2/daos/:daoId.'
AS
SELECT
    dao_id,
    coalesce(argMinOrNullIf(label, precedence, label != ''), dao_id) AS name,
    sum(total) AS proposal_counts_total,
    sum(active) AS proposal_counts_active,
    sum(pending) AS proposal_counts_pending,
    sum(closed) AS proposal_counts_closed,
    sum(passed) AS outcomes_passed,
    sum(failed) AS outcomes_failed,
    sum(executed) AS outcomes_executed,
    sum(canceled) AS outcomes_canceled,
    sum(unknown) AS outcomes_unknown,
    max(proposal_at) AS latest_proposal_at,
    max(vote_at) AS latest_vote_at,
    coalesce(min(spam), false) AS flagged
FROM
(
    SELECT
        dao_id,
        name AS label,
        '' AS precedence,
        0 AS total,
        0 AS active,
        0 AS pending,
        0 AS closed,
        0 AS passed,
        0 AS failed,
        0 AS executed,
        0 AS canceled,
        0 AS unknown,
        CAST(NULL, 'Nullable(DateTime64(3, \'UTC\'))') AS proposal_at,
        CAST(NULL, 'Nullable(DateTime64(3, \'UTC\'))') AS vote_at,
        CAST(NULL, 'Nullable(Bool)') AS spam
    FROM $data.daos FINAL

    UNION ALL

    SELECT
        if(
            source_id GLOBAL IN (SELECT dao_id FROM $data.daos) OR row_number() OVER (PARTITION BY source_id ORDER BY toString(provider)) > 1,
            concat(toString(provider), ':', source_id), source_id
        ),
        if(name = '', source_id, name),
        toString(provider),
        0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, flagged
    FROM $data.sources FINAL
    WHERE (toString(provider), source_id) GLOBAL NOT IN
    (
        SELECT arrayJoin(arrayMap(n -> (source_providers[n], source_ids[n]), arrayEnumerate(source_ids))) AS claimed
        FROM $data.daos FINAL
    )

    UNION ALL

    SELECT
        dao_id,
        min(toString(source_id)),
        '~', -- after all providers
        count(),
        countIf(lifecycle = 'active'),
        countIf(lifecycle = 'pending'),
        countIf(lifecycle = 'closed'),
        countIf(outcome = 'passed'),
        countIf(outcome = 'failed'),
        countIf(outcome = 'executed'),
        countIf(outcome = 'canceled'),
        countIf(outcome = 'unknown'),
        max(created_at),
        max(last_voted_at),
        NULL
    FROM $data.proposal_states FINAL
    WHERE dao_id != ''
        AND NOT flagged
    GROUP BY dao_id

    UNION ALL

    SELECT
        dao_id,
        host,
        '~',
        0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL
    FROM $data.topic_states FINAL

    UNION ALL

    SELECT
        dao_id,
        '',
        '',
        0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, (claimed.1, claimed.2) GLOBAL IN
        (
            SELECT toString(provider), source_id FROM $data.sources FINAL WHERE flagged
        )
    FROM
    (
        SELECT
            min(daos.dao_id) AS dao_id,
            arrayJoin(arrayMap(n -> (source_providers[n], source_ids[n]), arrayEnumerate(source_ids))) AS claimed
        FROM $data.daos FINAL
        GROUP BY claimed
    )
    WHERE claimed.1 != 'discourse'
)
GROUP BY dao_id;
