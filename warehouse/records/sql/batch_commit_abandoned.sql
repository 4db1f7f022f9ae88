INSERT INTO batches (batch_id, import_id, sealed, proposals, source_providers, source_ids, first_version, names_voters, ballot_proposals, ballot_voters, has_names)
SELECT
    batch_id,
    import_id,
    1,
    proposals,
    source_providers,
    source_ids,
    first_version,
    names_voters,
    ballot_proposals,
    ballot_voters,
    has_names
FROM batches FINAL
WHERE sealed = 0 AND changed_at < now64(6, 'UTC') - toIntervalSecond(?)
