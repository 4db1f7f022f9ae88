package warehouse

// AnalystGrants returns what the user analyst may read: the views, and the tables that
// views read with the rights of their caller. The other views read with the rights of the
// user who made them, so that all other tables are refused, among them signing keys, the
// hashes of tokens and signed payments.
func AnalystGrants() []string {
	grants := []string{"SELECT ON " + ViewsDatabase(DefaultDatabase) + ".*"} //nolint:unqueryvet // a right, no query
	for _, table := range []string{"ballots", "proposal_states", "batches"} {
		grants = append(grants, "SELECT ON "+DefaultDatabase+"."+table)
	}
	return grants
}
