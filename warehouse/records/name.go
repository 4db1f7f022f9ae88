package records

import (
	"context"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

func nameTable() table {
	return table{
		kind: record.KindName, keys: []column{{"voter", "String"}, {"source", "String"}, {"origin", "String"}},
		columns: []string{"name", "verified", "withdrawn"},
		values: valuesOf(func(into []any, n *record.Name) ([]any, error) {
			return append(into, n.Name, n.Verified, n.Withdrawn), nil
		}),
	}
}

// VoterNames returns the names of some voters; a voter of whom none is known is missing.
func VoterNames(ctx context.Context, w *warehouse.Warehouse, voters []string) (map[string]*governance.VoterName, error) {
	if len(voters) == 0 {
		return map[string]*governance.VoterName{}, nil
	}
	wanted := warehouse.ExternalTable("wanted_voters", voters, func(voter string) []any { return []any{voter} }, warehouse.TextColumn("voter"))
	return voterNames(ctx, w, "voter IN (SELECT voter FROM wanted_voters)", wanted)
}

// AllVoterNames returns the names of all voters.
func AllVoterNames(ctx context.Context, w *warehouse.Warehouse) (map[string]*governance.VoterName, error) {
	return voterNames(ctx, w, "true")
}

// NamesState identifies what is stored of names.
type NamesState struct {
	// Rows is the number of rows; Hash is a sum over them.
	Rows, Hash uint64
}

// NamesStateOf returns the state of the stored names.
func NamesStateOf(ctx context.Context, w *warehouse.Warehouse) (NamesState, error) {
	const sql = "SELECT count() AS rows, sum(cityHash64(voter, fingerprint, version)) AS hash FROM names"
	return warehouse.FindOne[NamesState](ctx, w, "read the state of names", sql)
}

// voterNames returns the names of the voters that satisfy a condition.
func voterNames(
	ctx context.Context, w *warehouse.Warehouse, condition string, args ...any,
) (map[string]*governance.VoterName, error) {
	sql := "SELECT voter, name, toString(source) AS source, verified FROM names FINAL " +
		"WHERE " + condition + " AND NOT withdrawn AND name != '' ORDER BY voter, origin"
	stated, err := warehouse.FindGroups[string, governance.VoterName](ctx, w, "read the names of voters", sql, args...)
	names := make(map[string]*governance.VoterName, len(stated))
	for voter, all := range stated {
		if name := governance.PreferredName(all); name != nil {
			name.Suspect = governance.IsSuspectName(name.Name)
			names[voter] = name
		}
	}
	return names, err
}

// VoterNamed returns the voter whose verified name is given in any case; empty for none. Of several, of
// which only one can still have it, the one that was verified last.
func VoterNamed(ctx context.Context, w *warehouse.Warehouse, name string) (string, error) {
	const sql = "SELECT voter FROM names FINAL WHERE name = {name:String} AND verified AND NOT withdrawn ORDER BY version DESC LIMIT 1"
	return warehouse.FindOne[string](ctx, w, "read the voter of a name", sql,
		clickhouse.Named("name", strings.ToLower(name)))
}

// NamedSubject is a published proposal on which a voter whose name has changed voted.
type NamedSubject struct {
	Key   governance.ProposalKey `ch:"proposal_key"`
	DAOID string
}

// NamedSubjects returns the proposals whose ballots show names that batches have changed.
func NamedSubjects(ctx context.Context, w *warehouse.Warehouse, batches []CommittedBatch) ([]NamedSubject, error) {
	var imports []uuid.UUID
	first := ^uint64(0)
	for _, b := range batches {
		if b.Changes.Names {
			imports, first = append(imports, b.importID), min(first, b.firstVersion)
		}
	}
	if len(imports) == 0 {
		return nil, nil
	}
	const sql = "SELECT proposal_key, dao_id FROM proposal_states FINAL WHERE dao_id != '' AND proposal_ref GLOBAL IN (SELECT proposal_ref FROM ballots " +
		"WHERE voter GLOBAL IN (SELECT voter FROM names WHERE import_id IN {imports:Array(UUID)} AND version >= {first:UInt64}))"
	return warehouse.Find[NamedSubject](ctx, w, "read what shows names that have changed", sql,
		clickhouse.Named("imports", imports), clickhouse.Named("first", first))
}

// NameSearch selects voters of whom a source is to be asked for a name.
type NameSearch struct {
	// Source is asked, of voters on proposals of Provider; of all providers if it is empty.
	Source   governance.NameSource
	Provider governance.Provider
	// Limit is the maximum number of voters.
	Limit int
}

// votersAsked bounds of whom a source is asked: of the latest votes of each DAO, and of all DAOs, the
// ballots with the most power, and of each token the delegates with the most power.
const votersAsked = " SELECT voter FROM (SELECT voter FROM ballots WHERE NOT withdrawn AND proposal_ref GLOBAL IN (" +
	"SELECT proposal_ref FROM proposal_states FINAL WHERE NOT flagged AND votes > 0 AND ({provider:String} = '' OR provider = {provider:String}) " +
	"ORDER BY end_at DESC NULLS LAST LIMIT 50 BY dao_id LIMIT 500) ORDER BY power DESC LIMIT 100 BY proposal_ref " +
	"UNION ALL SELECT delegate AS voter FROM (SELECT scope, delegate, argMax(power, place) AS held FROM delegate_power FINAL WHERE NOT withdrawn " +
	"GROUP BY scope, delegate ORDER BY held DESC LIMIT 200 BY scope)) WHERE " + askable

// askable voters have an address: of an EVM chain, or, for Snapshot, of Starknet. Snapshot refuses all that
// are asked for together with another.
const askable = "(match(voter, '^0x[0-9a-f]{40}$') OR {source:String} = 'snapshot' AND match(voter, '^0x0[0-7][0-9a-f]{62}$'))"

// Nameless returns voters of whom the source was never asked, in order of identity.
func Nameless(ctx context.Context, w *warehouse.Warehouse, s NameSearch) ([]string, error) {
	sql := "SELECT DISTINCT voter FROM (" + votersAsked + ") WHERE voter GLOBAL NOT IN (SELECT voter FROM names WHERE source = {source:String}) " +
		"ORDER BY voter LIMIT {limit:UInt64}"
	return warehouse.Find[string](warehouse.InBackground(ctx), w, "read of whom to ask for names", sql,
		clickhouse.Named("source", string(s.Source)), clickhouse.Named("provider", string(s.Provider)),
		clickhouse.Named("limit", s.Limit))
}

// AskedForNames returns voters after one, in order of identity, of whom the source was asked before.
func AskedForNames(ctx context.Context, w *warehouse.Warehouse, s NameSearch, after string) ([]string, error) {
	const sql = "SELECT voter FROM names FINAL WHERE source = {source:String} AND voter > {after:String} AND " + askable + " ORDER BY voter LIMIT {limit:UInt64}"
	return warehouse.Find[string](ctx, w, "read of whom to ask for names", sql,
		clickhouse.Named("source", string(s.Source)), clickhouse.Named("after", after), clickhouse.Named("limit", s.Limit))
}

// HeldNames returns the names of a source and an origin: a forum, or none.
func HeldNames(ctx context.Context, w *warehouse.Warehouse, source governance.NameSource, origin string) ([]record.Name, error) {
	const sql = "SELECT voter, name FROM names FINAL WHERE source = {source:String} AND origin = {origin:String} AND NOT withdrawn"
	names, err := warehouse.Find[record.Name](ctx, w, "read the names of a source", sql,
		clickhouse.Named("source", string(source)), clickhouse.Named("origin", origin))
	for i := range names {
		names[i].Source, names[i].Origin = source, origin
	}
	return names, err
}
