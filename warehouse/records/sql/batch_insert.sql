INSERT INTO batches
(
    batch_id,
    import_id,
    sealed,
    proposals,
    source_providers,
    source_ids,
    first_version,
    names_voters,
    ballot_proposals,
    ballot_voters,
    has_names
)
