package warehouse

// AnalystGrants returns what the user analyst may read, as "SELECT ON table". Everything
// that is not listed is refused: signing keys, the hashes of tokens, signed payments, and
// any table to come.
func AnalystGrants() []string {
	grants := make([]string, 0, 40)
	for _, table := range []string{
		"daos", "sources", "categories", "syncs", "proposals", "ballots", "topics", "events", "signals", "evidence",
		"proposal_states", "listed_proposals", "proposal_names", "proposal_titles", "proposal_links",
		"topic_states", "feed_events", "feed_signals", "sorted_ballots", "sorted_voters", "sorted_copies",
		"batches", "schema_migrations",
		"latest_ballots", "vote_summaries", "votes", "superseded_ballots", "dao_participation", "dao_voters",
		"voter_daos", "dao_timelines", "usage_by_day", "usage_by_month", "payment_ledger",
	} {
		grants = append(grants, "SELECT ON "+DefaultDatabase+"."+table)
	}
	// A view reads with the rights of its caller. These are the columns that the views of
	// usage and payments show.
	return append(grants,
		"SELECT(token_id, name, plan) ON "+DefaultDatabase+".tokens",
		"SELECT(token_id, day, route, requests, ok, not_modified, refused, failed, charged, bytes, payments) ON "+
			DefaultDatabase+".usage_counts",
		"SELECT(payment_id, state, route_id, payer, pay_to, network, asset, symbol, amount, changed_at, "+
			"settled_at, tx_hash) ON "+DefaultDatabase+".payments",
	)
}
