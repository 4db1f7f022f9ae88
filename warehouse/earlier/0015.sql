-- The tables of 0.1.0, before tables and columns were renamed.
CREATE TABLE IF NOT EXISTS schema_migrations
(
    fingerprint String,
    applied_at  DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC')
)
ENGINE = ReplacingMergeTree
ORDER BY fingerprint;

-- shard by: cityHash64(dao_id)
CREATE TABLE IF NOT EXISTS daos
(
    dao_id           String,
    name             String,
    source_providers Array(String),
    source_ids       Array(String),
    fingerprint      UInt64,
    version          UInt64,
    discovered_at    DateTime64(3, 'UTC'),
    observed_at      DateTime64(3, 'UTC'),
    import_id        UUID
)
ENGINE = ReplacingMergeTree(version)
ORDER BY dao_id;

-- shard by: cityHash64(source_id)
CREATE TABLE IF NOT EXISTS sources
(
    provider      LowCardinality(String),
    source_id     String,
    name          String,
    slug          String,
    network       String,
    symbol        String,
    fingerprint   UInt64,
    version       UInt64,
    discovered_at DateTime64(3, 'UTC'),
    observed_at   DateTime64(3, 'UTC'),
    import_id     UUID
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (provider, source_id);

-- shard by: cityHash64(host)
CREATE TABLE IF NOT EXISTS categories
(
    host          String,
    category_id   String,
    name          String,
    slug          String,
    fingerprint   UInt64,
    version       UInt64,
    discovered_at DateTime64(3, 'UTC'),
    observed_at   DateTime64(3, 'UTC'),
    import_id     UUID
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (host, category_id);

-- shard by: cityHash64(source_id)
CREATE TABLE IF NOT EXISTS syncs
(
    provider  LowCardinality(String),
    source_id String,
    kind      LowCardinality(String),
    synced_at DateTime64(3, 'UTC'),
    import_id UUID
)
ENGINE = ReplacingMergeTree(synced_at)
ORDER BY (provider, source_id, kind);
-- shard by: cityHash64(proposal_ref)
CREATE TABLE IF NOT EXISTS proposals
(
    proposal_ref     FixedString(16),
    provider         LowCardinality(String),
    source_id        LowCardinality(String),
    external_id      String,
    title            String,
    body             String CODEC(ZSTD(3)),
    proposer_id      String,
    source_url       String,
    discussion_url   String,
    vote_type        LowCardinality(String),
    state            LowCardinality(String),
    choices          Array(String),
    quorum_raw       String,
    quorum           Nullable(Decimal(76, 18)),
    created_at       Nullable(DateTime64(3, 'UTC')),
    updated_at       Nullable(DateTime64(3, 'UTC')),
    start_at         Nullable(DateTime64(3, 'UTC')),
    end_at           Nullable(DateTime64(3, 'UTC')),
    start_day_only   Bool,
    end_day_only     Bool,
    stated_scores    Array(Decimal(76, 18)),
    stated_total     Nullable(Decimal(76, 18)),
    stated_votes     Nullable(UInt64),
    flagged          Bool,
    upstream_id      String,
    upstream_type    LowCardinality(String),
    upstream_status  LowCardinality(String),
    milestone_types  Array(LowCardinality(String)),
    milestone_times  Array(Nullable(DateTime64(3, 'UTC'))),
    milestone_hashes Array(String),
    fingerprint      UInt64,
    version          UInt64,
    discovered_at    DateTime64(3, 'UTC'),
    observed_at      DateTime64(3, 'UTC'),
    import_id        UUID
)
ENGINE = ReplacingMergeTree(version)
ORDER BY proposal_ref;
-- shard by: cityHash64(proposal_ref)
CREATE TABLE IF NOT EXISTS ballots
(
    proposal_ref   FixedString(16),
    voter          String,
    vote_id        String,
    provider       LowCardinality(String),
    external_id    String CODEC(ZSTD(1)),
    power          Decimal(76, 18),
    power_rounded  Bool,
    choices        Array(LowCardinality(String)),
    shares         Array(Decimal(76, 18)),
    roots          Array(Decimal(76, 18)),
    choice_key     LowCardinality(String),
    raw_choice     String,
    voted_at       Nullable(DateTime64(3, 'UTC')),
    voted_day_only Bool,
    tx_hash        String,
    reason         String,
    fingerprint    UInt64,
    version        UInt64,
    discovered_at  DateTime64(3, 'UTC'),
    observed_at    DateTime64(3, 'UTC'),
    import_id      UUID,
    PROJECTION by_voter
    (
        SELECT
            voter,
            proposal_ref,
            vote_id,
            power,
            choice_key,
            voted_at,
            tx_hash,
            version
        ORDER BY
            voter,
            proposal_ref
    )
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (proposal_ref, voter, vote_id)
SETTINGS deduplicate_merge_projection_mode = 'rebuild';

CREATE VIEW IF NOT EXISTS latest_ballots AS
SELECT *
FROM ballots FINAL
ORDER BY
    proposal_ref,
    voter,
    voted_at IS NULL,
    voted_at DESC,
    vote_id DESC
LIMIT 1 BY
    proposal_ref,
    voter;
-- shard by: cityHash64(host, external_id)
CREATE TABLE IF NOT EXISTS topics
(
    host          String,
    external_id   String,
    title         String,
    slug          String,
    category_id   String,
    tags          Array(String),
    author        String,
    body_html     String CODEC(ZSTD(3)),
    posts         UInt64,
    likes         UInt64,
    views         UInt64,
    created_at    Nullable(DateTime64(3, 'UTC')),
    updated_at    Nullable(DateTime64(3, 'UTC')),
    closed        Bool,
    archived      Bool,
    visible       Bool,
    fingerprint   UInt64,
    version       UInt64,
    discovered_at DateTime64(3, 'UTC'),
    observed_at   DateTime64(3, 'UTC'),
    import_id     UUID
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (host, external_id);

-- shard by: cityHash64(event_id)
CREATE TABLE IF NOT EXISTS events
(
    event_id      String,
    event_type    LowCardinality(String),
    event_time    DateTime64(3, 'UTC'),
    dao_id        String,
    title         String,
    url           String,
    item_type     LowCardinality(String),
    provider      LowCardinality(String),
    external_id   String,
    confidence    LowCardinality(String),
    importance    UInt8,
    fingerprint   UInt64,
    version       UInt64,
    discovered_at DateTime64(3, 'UTC'),
    observed_at   DateTime64(3, 'UTC'),
    import_id     UUID
)
ENGINE = ReplacingMergeTree(version)
ORDER BY event_id;

-- shard by: cityHash64(signal_id)
CREATE TABLE IF NOT EXISTS signals
(
    signal_id     String,
    signal_type   LowCardinality(String),
    dao_id        String,
    provider      LowCardinality(String),
    external_id   String,
    title         String,
    summary       String,
    source_url    String,
    actionability LowCardinality(String),
    severity      LowCardinality(String),
    score         UInt8,
    surfaces      Array(LowCardinality(String)),
    detected_at   DateTime64(3, 'UTC'),
    deadline_at   Nullable(DateTime64(3, 'UTC')),
    evidence      String,
    fingerprint   UInt64,
    version       UInt64,
    discovered_at DateTime64(3, 'UTC'),
    observed_at   DateTime64(3, 'UTC'),
    import_id     UUID
)
ENGINE = ReplacingMergeTree(version)
ORDER BY signal_id;

-- shard by: cityHash64(external_id)
CREATE TABLE IF NOT EXISTS evidence
(
    provider         LowCardinality(String),
    external_id      String,
    artifact_version String,
    generated_at     DateTime64(3, 'UTC'),
    dossier          String CODEC(ZSTD(3)),
    source_refs      String,
    warnings         String,
    fingerprint      UInt64,
    version          UInt64,
    discovered_at    DateTime64(3, 'UTC'),
    observed_at      DateTime64(3, 'UTC'),
    import_id        UUID
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (provider, external_id);
-- shard by: cityHash64(batch_id)
CREATE TABLE IF NOT EXISTS batches
(
    batch_id         UUID,
    import_id        UUID,
    sealed           UInt8,
    changed_at       DateTime64(6, 'UTC') DEFAULT now64(6, 'UTC'),
    proposals        Array(FixedString(16)),
    source_providers Array(String),
    source_ids       Array(String)
)
ENGINE = ReplacingMergeTree(sealed)
ORDER BY batch_id
TTL toDateTime(changed_at) + INTERVAL 30 DAY WHERE sealed = 1;

-- shard by: cityHash64(proposal_ref)
CREATE TABLE IF NOT EXISTS proposal_states
(
    proposal_ref   FixedString(16),
    proposal_key   String,
    dao_id         String,
    provider       LowCardinality(String),
    source_id      LowCardinality(String),
    external_id    String,
    lifecycle      LowCardinality(String),
    outcome        LowCardinality(String),
    coverage       LowCardinality(String),
    vote_ready     Bool,
    votes          UInt64,
    power          Decimal(76, 18),
    choice_keys    Array(String),
    choice_labels  Array(String),
    choice_votes   Array(UInt64),
    choice_powers  Array(Decimal(76, 18)),
    vote_months    Array(UInt32),
    vote_counts    Array(UInt64),
    created_at     Nullable(DateTime64(3, 'UTC')),
    updated_at     Nullable(DateTime64(3, 'UTC')),
    start_at       Nullable(DateTime64(3, 'UTC')),
    end_at         Nullable(DateTime64(3, 'UTC')),
    last_voted_at  Nullable(DateTime64(3, 'UTC')),
    next_change_at Nullable(DateTime64(3, 'UTC')),
    quality_flags  Array(LowCardinality(String)),
    revision       UInt64
)
ENGINE = ReplacingMergeTree(revision)
ORDER BY proposal_ref;

-- shard by: cityHash64(name)
CREATE TABLE IF NOT EXISTS signing_keys
(
    name       LowCardinality(String),
    key        String,
    created_at DateTime64(6, 'UTC') DEFAULT now64(6, 'UTC')
)
ENGINE = MergeTree
ORDER BY (name, created_at);

-- shard by: generation
CREATE TABLE IF NOT EXISTS ordered_ballots
(
    generation UInt64,
    voter      String,
    vote_id    String,
    choice_key LowCardinality(String),
    raw_choice String,
    power      Decimal(76, 18),
    voted_at   DateTime64(3, 'UTC'),
    tx_hash    String,
    PROJECTION by_time
    (
        SELECT *
        ORDER BY
            generation,
            voted_at,
            voter
    )
)
ENGINE = MergeTree
PARTITION BY generation
ORDER BY (generation, power, voter)
SETTINGS index_granularity = 1024;

-- shard by: generation
CREATE TABLE IF NOT EXISTS ranked_voters
(
    generation UInt64,
    descending Decimal(76, 18),
    voter      String,
    rank       UInt64,
    votes      UInt64
)
ENGINE = MergeTree
PARTITION BY generation
ORDER BY (generation, descending, voter)
SETTINGS index_granularity = 1024;

-- shard by: cityHash64(subject)
CREATE TABLE IF NOT EXISTS orders
(
    kind       LowCardinality(String),
    subject    String,
    generation UInt64,
    revision   UInt64
)
ENGINE = ReplacingMergeTree(generation)
ORDER BY (kind, subject);

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

CREATE VIEW IF NOT EXISTS dao_participation AS
SELECT
    dao_id,
    uniqExact(voter_identity) AS unique_voters,
    count() AS total_votes,
    sum(voting_power) AS total_voting_power
FROM votes
GROUP BY dao_id;

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

-- shard by: cityHash64(proposal_ref)
CREATE TABLE IF NOT EXISTS listed_proposals
(
    proposal_ref   FixedString(16),
    proposal_key   String,
    dao_id         LowCardinality(String),
    provider       LowCardinality(String),
    source_id      LowCardinality(String),
    external_id    String,
    title          String,
    source_url     String,
    discussion_url String,
    proposer_id    String,
    lifecycle      LowCardinality(String),
    outcome        LowCardinality(String),
    coverage       LowCardinality(String),
    created_at     DateTime64(3, 'UTC'),
    updated_at     DateTime64(3, 'UTC'),
    start_at       DateTime64(3, 'UTC'),
    end_at         DateTime64(3, 'UTC'),
    fingerprint    UInt64,
    revision       UInt64
)
ENGINE = ReplacingMergeTree(revision)
ORDER BY proposal_ref
SETTINGS index_granularity = 256, min_compress_block_size = 4096, max_compress_block_size = 8192;

-- shard by: cityHash64(proposal_ref)
CREATE TABLE IF NOT EXISTS proposal_names
(
    name         UInt64,
    descending   Int64,
    proposal_key String,
    proposal_ref FixedString(16),
    dao_id       LowCardinality(String),
    provider     LowCardinality(String)
)
ENGINE = ReplacingMergeTree
ORDER BY (name, descending, proposal_key)
SETTINGS index_granularity = 256;

-- shard by: cityHash64(proposal_ref)
CREATE TABLE IF NOT EXISTS proposal_titles
(
    length       UInt32,
    descending   Int64,
    proposal_key String,
    proposal_ref FixedString(16),
    dao_id       LowCardinality(String),
    provider     LowCardinality(String),
    title        String
)
ENGINE = ReplacingMergeTree
ORDER BY (length, descending, proposal_key)
SETTINGS index_granularity = 1024;
-- shard by: cityHash64(host, external_id)
ALTER TABLE topics ADD COLUMN IF NOT EXISTS participants Nullable(UInt64) AFTER views;

-- shard by: cityHash64(host, external_id)
ALTER TABLE topics ADD COLUMN IF NOT EXISTS last_post_at Nullable(DateTime64(3, 'UTC')) AFTER updated_at;

-- shard by: cityHash64(proposal_ref)
CREATE TABLE IF NOT EXISTS proposal_links
(
    proposal_ref   FixedString(16),
    proposal_key   String,
    title          String,
    names          Array(String),
    topic          String,
    touched_names  Array(String),
    touched_topics Array(String),
    revision       UInt64
)
ENGINE = ReplacingMergeTree(revision)
ORDER BY proposal_ref;

-- shard by: cityHash64(host, external_id)
CREATE TABLE IF NOT EXISTS topic_states
(
    host          String,
    external_id   String,
    topic_key     String,
    dao_id        String,
    provider      LowCardinality(String),
    identity_id   String,
    name          String,
    links         Array(String),
    title         String,
    summary       String,
    url           String,
    author        String,
    category      String,
    tags          Array(String),
    score         UInt8,
    related       Bool,
    posts         UInt64,
    replies       UInt64,
    likes         UInt64,
    views         UInt64,
    created_at    Nullable(DateTime64(3, 'UTC')),
    updated_at    Nullable(DateTime64(3, 'UTC')),
    visible       Bool,
    topic_version UInt64,
    rules_version UInt32,
    revision      UInt64
)
ENGINE = ReplacingMergeTree(revision)
ORDER BY (host, external_id);

-- shard by: cityHash64(item)
CREATE TABLE IF NOT EXISTS chronicle_items
(
    item     FixedString(16),
    dao_id   String,
    edition  UInt64,
    revision UInt64
)
ENGINE = ReplacingMergeTree(revision)
ORDER BY item;

-- shard by: cityHash64(event_id)
CREATE TABLE IF NOT EXISTS chronicle_events
(
    basis         LowCardinality(String),
    at            DateTime64(3, 'UTC'),
    event_id      String,
    item          FixedString(16),
    event_type    LowCardinality(String),
    event_time    DateTime64(3, 'UTC'),
    discovered_at DateTime64(3, 'UTC'),
    confidence    LowCardinality(String),
    dao_id        LowCardinality(String),
    item_type     LowCardinality(String),
    proposal_ref  FixedString(16),
    proposal_key  String,
    title         String,
    url           String,
    importance    UInt8,
    fingerprint   UInt64,
    revision      UInt64,
    gone          UInt8,
    PROJECTION by_item
    (
        SELECT
            item,
            basis,
            at,
            event_id,
            discovered_at,
            dao_id,
            proposal_ref,
            fingerprint,
            revision,
            gone
        ORDER BY item
    )
)
ENGINE = ReplacingMergeTree(revision, gone)
ORDER BY (basis, at, event_id)
SETTINGS deduplicate_merge_projection_mode = 'rebuild';

-- shard by: cityHash64(signal_id)
CREATE TABLE IF NOT EXISTS chronicle_signals
(
    detected_at   DateTime64(3, 'UTC'),
    signal_id     String,
    item          FixedString(16),
    signal_type   LowCardinality(String),
    dao_id        LowCardinality(String),
    proposal_ref  FixedString(16),
    proposal_key  String,
    title         String,
    summary       String,
    source_url    String,
    actionability LowCardinality(String),
    severity      LowCardinality(String),
    score         UInt8,
    surfaces      Array(LowCardinality(String)),
    deadline_at   Nullable(DateTime64(3, 'UTC')),
    evidence      String,
    fingerprint   UInt64,
    revision      UInt64,
    gone          UInt8,
    PROJECTION by_item
    (
        SELECT
            item,
            detected_at,
            signal_id,
            dao_id,
            proposal_ref,
            fingerprint,
            revision,
            gone
        ORDER BY item
    )
)
ENGINE = ReplacingMergeTree(revision, gone)
ORDER BY (detected_at, signal_id)
SETTINGS deduplicate_merge_projection_mode = 'rebuild';
-- shard by: cityHash64(proposal_ref)
ALTER TABLE proposals ADD COLUMN IF NOT EXISTS snapshot_url String;

-- shard by: cityHash64(proposal_ref)
ALTER TABLE proposals ADD COLUMN IF NOT EXISTS page String DEFAULT
    if(provider = 'snapshot',
        concat('snapshot/', external_id),
        concat('tally/', source_id, '/', extract(source_url, '/proposal/([^/?#]+)')));

-- shard by: cityHash64(proposal_ref)
ALTER TABLE proposals ADD COLUMN IF NOT EXISTS linked_page String DEFAULT
    multiIf(
        match(if(snapshot_url = '', discussion_url, snapshot_url), '^https?://(www[.])?snapshot[.](org|box|page)/.*/proposal/'),
        concat('snapshot/', extract(if(snapshot_url = '', discussion_url, snapshot_url), '/proposal/([^/?#]+)')),
        match(discussion_url, '^https?://(www[.])?tally[.]xyz/gov/[^/]+/proposal/'),
        concat('tally/', extract(discussion_url, '/gov/([^/?#]+)/'), '/', extract(discussion_url, '/proposal/([^/?#]+)')),
        '');
-- shard by: cityHash64(token_id)
CREATE TABLE IF NOT EXISTS tokens
(
    token_id          String,
    name              String,
    plan              LowCardinality(String),
    scopes            Array(LowCardinality(String)),
    verifier          FixedString(32),
    previous_verifier FixedString(32),
    previous_until    DateTime64(3, 'UTC'),
    limits            Array(UInt32),
    created_at        DateTime64(3, 'UTC'),
    expires_at        Nullable(DateTime64(3, 'UTC')),
    changed_at        DateTime64(6, 'UTC') DEFAULT now64(6, 'UTC')
)
ENGINE = ReplacingMergeTree(changed_at)
ORDER BY token_id;

-- shard by: cityHash64(token_id)
CREATE TABLE IF NOT EXISTS token_revocations
(
    token_id   String,
    revoked_at DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC')
)
ENGINE = MergeTree
ORDER BY (token_id, revoked_at);

-- shard by: cityHash64(token_id)
CREATE TABLE IF NOT EXISTS usage_counts
(
    token_id     String,
    day          Date,
    route        LowCardinality(String),
    session      String,
    requests     UInt64,
    ok           UInt64,
    not_modified UInt64,
    refused      UInt64,
    failed       UInt64,
    charged      UInt64,
    bytes        UInt64,
    payments     UInt64
)
ENGINE = ReplacingMergeTree(requests)
PARTITION BY toYYYYMM(day)
ORDER BY (token_id, day, route, session);

CREATE VIEW IF NOT EXISTS usage_by_day AS
SELECT
    token_id,
    day,
    route,
    sum(requests) AS requests,
    sum(ok) AS ok,
    sum(not_modified) AS not_modified,
    sum(refused) AS refused,
    sum(failed) AS failed,
    sum(charged) AS charged,
    sum(bytes) AS bytes,
    sum(payments) AS payments
FROM
(
    SELECT
        token_id,
        day,
        route,
        requests,
        ok,
        not_modified,
        refused,
        failed,
        charged,
        bytes,
        payments
    FROM usage_counts FINAL
)
GROUP BY
    token_id,
    day,
    route;

CREATE VIEW IF NOT EXISTS usage_by_month AS
SELECT
    used.token_id AS token_id,
    token.name AS name,
    token.plan AS plan,
    formatDateTime(toStartOfMonth(used.day), '%Y-%m') AS month,
    sum(used.requests) AS requests,
    sum(used.charged) AS charged,
    sum(used.bytes) AS bytes,
    sum(used.payments) AS payments
FROM usage_by_day AS used
GLOBAL LEFT JOIN
(
    SELECT
        token_id,
        name,
        plan
    FROM tokens FINAL
) AS token ON used.token_id = token.token_id
GROUP BY
    token_id,
    name,
    plan,
    month;
-- shard by: cityHash64(payment_id)
CREATE TABLE IF NOT EXISTS payments
(
    payment_id   String,
    state        LowCardinality(String),
    route_id     LowCardinality(String),
    request_hash String,
    header_hash  String,
    payer        String,
    pay_to       LowCardinality(String),
    nonce        String,
    network      LowCardinality(String),
    asset        LowCardinality(String),
    symbol       LowCardinality(String),
    amount       Decimal(76, 18),
    units        String,
    valid_before DateTime64(3, 'UTC'),
    claimed_at   DateTime64(3, 'UTC'),
    changed_at   DateTime64(3, 'UTC'),
    settled_at   Nullable(DateTime64(3, 'UTC')),
    tx_hash      String,
    reason       String,
    attempts     UInt32,
    unanswered   Bool,
    settlement   String,
    revision     UInt64
)
ENGINE = ReplacingMergeTree(revision)
ORDER BY payment_id;

CREATE VIEW IF NOT EXISTS payment_ledger AS
SELECT
    coalesce(settled_at, changed_at) AS booked_at,
    state,
    amount,
    symbol,
    network,
    asset,
    payer,
    pay_to,
    tx_hash AS transaction_hash,
    route_id,
    payment_id
FROM payments FINAL
WHERE state IN ('settled', 'unknown');

-- shard by: cityHash64(proposal_ref)
ALTER TABLE listed_proposals MODIFY SETTING deduplicate_merge_projection_mode = 'rebuild';

-- shard by: cityHash64(proposal_ref)
ALTER TABLE listed_proposals
    ADD PROJECTION IF NOT EXISTS by_update (SELECT * ORDER BY updated_at, proposal_key, revision),
    ADD PROJECTION IF NOT EXISTS by_creation (SELECT * ORDER BY created_at, proposal_key, revision),
    ADD PROJECTION IF NOT EXISTS by_end (SELECT * ORDER BY lifecycle, end_at, proposal_key, revision),
    ADD PROJECTION IF NOT EXISTS by_dao (SELECT * ORDER BY dao_id, updated_at, proposal_key, revision);

-- shard by: cityHash64(proposal_ref)
ALTER TABLE listed_proposals
    MATERIALIZE PROJECTION IF EXISTS by_update,
    MATERIALIZE PROJECTION IF EXISTS by_creation,
    MATERIALIZE PROJECTION IF EXISTS by_end,
    MATERIALIZE PROJECTION IF EXISTS by_dao;

-- shard by: cityHash64(proposal_ref)
ALTER TABLE ballots
    ADD PROJECTION IF NOT EXISTS by_proposal (SELECT proposal_ref, count() GROUP BY proposal_ref);

-- shard by: cityHash64(proposal_ref)
ALTER TABLE ballots MATERIALIZE PROJECTION IF EXISTS by_proposal;

-- shard by: cityHash64(proposal_ref)
ALTER TABLE proposals MODIFY SETTING deduplicate_merge_projection_mode = 'rebuild';

-- shard by: cityHash64(proposal_ref)
ALTER TABLE proposals
    ADD PROJECTION IF NOT EXISTS by_page (SELECT proposal_ref, page ORDER BY page),
    ADD PROJECTION IF NOT EXISTS by_linked_page (SELECT proposal_ref, linked_page ORDER BY linked_page);

-- shard by: cityHash64(proposal_ref)
ALTER TABLE proposals
    MATERIALIZE PROJECTION IF EXISTS by_page,
    MATERIALIZE PROJECTION IF EXISTS by_linked_page;

-- shard by: cityHash64(proposal_ref)
ALTER TABLE proposal_states MODIFY SETTING deduplicate_merge_projection_mode = 'rebuild';

-- shard by: cityHash64(proposal_ref)
ALTER TABLE proposal_states
    ADD PROJECTION IF NOT EXISTS by_dao (SELECT * ORDER BY dao_id, proposal_ref),
    ADD INDEX IF NOT EXISTS next_change next_change_at TYPE minmax GRANULARITY 1;

-- shard by: cityHash64(proposal_ref)
ALTER TABLE proposal_states
    MATERIALIZE PROJECTION IF EXISTS by_dao,
    MATERIALIZE INDEX IF EXISTS next_change;
