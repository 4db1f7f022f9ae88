package warehouse_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/accounts"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/feed"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

func TestMain(m *testing.M) { env.Main(m) }

// open gives a test a warehouse of its own on the shared engine.
func open(t *testing.T) *warehouse.Warehouse {
	t.Helper()
	w, _ := openURL(t)
	return w
}

func openURL(t *testing.T) (w *warehouse.Warehouse, url string) {
	t.Helper()
	url = env.DatabaseURL(t)
	return openAt(t, warehouse.Options{URL: url}), url
}

func openAt(t *testing.T, o warehouse.Options) *warehouse.Warehouse {
	t.Helper()
	o.QueryTimeout, o.MaxMemory = 2*time.Minute, 2<<30
	o.Logger = slog.New(slog.DiscardHandler)
	w := env.Must(warehouse.Open(t.Context(), o))(t)
	t.Cleanup(func() {
		env.WantError(t, nil, w.Close())
	})
	return w
}

// openViews is openURL with a connection to the views that analysts read.
func openViews(t *testing.T) (w *warehouse.Warehouse, views driver.Conn) {
	t.Helper()
	instance := env.SharedEngine(t)
	database := env.MigratedDatabase(t, instance)
	return openAt(t, warehouse.Options{URL: instance.URL(database)}), raw(t, instance.URL(warehouse.ViewsDatabase(database)))
}

// raw opens a plain connection, to look behind the warehouse's back.
func raw(t *testing.T, url string) driver.Conn {
	t.Helper()
	return env.ConnectWarehouse(t, url)
}

func mustExec(t *testing.T, conn driver.Conn, sql string) {
	t.Helper()
	if err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func newRun() records.Import {
	return records.Import{ID: uuid.New(), ObservedAt: time.Now().UTC().Truncate(time.Millisecond)}
}

func appendAll(t *testing.T, w *warehouse.Warehouse, all ...record.Record) records.Counts {
	t.Helper()
	return env.Must(records.Append(t.Context(), w, newRun(), all))(t)
}

func writeStates(t *testing.T, w *warehouse.Warehouse, states ...counts.ProposalState) {
	t.Helper()
	env.MustDo(t, counts.WriteProposalStates(t.Context(), w, states))
}

// walk reads a list to its end, in pages of a size. read reads the page after a row, the first for nil.
func walk[Row any](t *testing.T, limit int, read func(after *Row) ([]Row, error)) (all []Row) {
	t.Helper()
	var last *Row
	for {
		page := env.Must(read(last))(t)
		if all = append(all, page...); len(page) < limit {
			return all
		}
		last = &page[len(page)-1]
	}
}

func ref(id string) record.ProposalRef {
	return record.ProposalRef{Provider: governance.Snapshot, ExternalID: id}
}

func at(text string) *governance.Timestamp {
	stamp, err := governance.ParseTimestamp(text)
	if err != nil {
		panic(err)
	}
	return &stamp
}

// ballot returns a ballot of one choice.
func ballot(proposal, voter, id, choice, power string, votedAt *governance.Timestamp) *record.Ballot {
	return &record.Ballot{
		Proposal: ref(proposal), VoteID: id, Voter: voter, Power: decimal.RequireFromString(power),
		Choices: []string{choice}, ChoiceKey: choice, RawChoice: choice, VotedAt: votedAt,
	}
}

func tally(t *testing.T, w *warehouse.Warehouse, proposal string) counts.VoteTotals {
	t.Helper()
	hash := ref(proposal).Hash()
	tallies := env.Must(counts.VoteTotalsOf(t.Context(), w, []record.RefHash{hash}))(t)
	return tallies[hash]
}

func TestServersOfThisMachineAreLocal(t *testing.T) {
	t.Parallel()
	for want, addresses := range map[bool][][]string{
		true:  {{"127.0.0.1:9000"}, {"localhost:9000", "[::1]:9000"}},
		false: {{"10.0.0.1:9000"}, {"clickhouse:9000"}, {"127.0.0.1:9000", "10.0.0.1:9000"}, {"127.0.0.1"}},
	} {
		for _, list := range addresses {
			env.Want(t, want, warehouse.IsLocal(list), list)
		}
	}
}

func TestAppendIsIdempotent(t *testing.T) {
	t.Parallel()
	w := open(t)
	first := ballot("p", "0xa", "v1", "1", "10", nil)
	other := ballot("p", "0xb", "v2", "2", "0.000000000000000001", nil)
	for _, step := range []struct {
		name    string
		records []record.Record
		want    records.Counts
	}{
		{"first time", []record.Record{first, other}, records.Counts{New: 2}},
		{"second time", []record.Record{first, other}, records.Counts{Unchanged: 2}},
		{"one of them new", []record.Record{first, ballot("p", "0xc", "v3", "1", "1", nil)}, records.Counts{New: 1, Unchanged: 1}},
		{"one of them changed", []record.Record{first, ballot("p", "0xb", "v2", "2", "3", nil)}, records.Counts{Changed: 1, Unchanged: 1}},
		{"twice in one batch", []record.Record{ballot("p", "0xd", "v4", "1", "1", nil), ballot("p", "0xd", "v4", "1", "1", nil)}, records.Counts{New: 1, Unchanged: 1}},
		{"twice in one batch, differing", []record.Record{ballot("p", "0xe", "v5", "1", "1", nil), ballot("p", "0xe", "v5", "1", "5", nil)}, records.Counts{New: 1, Changed: 1}},
	} {
		env.Want(t, step.want, appendAll(t, w, step.records...), step.name)
	}
	got := tally(t, w, "p")
	if got.Votes != 5 || got.Power.String() != "20" {
		t.Errorf("got %d votes of %s, want 5 of 20: the last version of each", got.Votes, got.Power)
	}
}

func TestVoteTotalsAreExactForEveryFormOfBallot(t *testing.T) {
	t.Parallel()
	w := open(t)
	approve := ballot("mixed", "0xa", "v1", "1", "0.000000000000000001", nil)
	approve.Choices = []string{"1", "3"}
	empty := ballot("mixed", "0xb", "v2", "", "1234567890123456789012345678901234567890.123456789012345678", at("2026-03-01T10:00:00.5Z"))
	empty.Choices, empty.ChoiceKey, empty.PowerRounded = nil, "", true
	zero := ballot("mixed", "0xc", "v3", "2", "0", nil)
	weighted := ballot("mixed", "0xd", "v4", "", "10", at("2026-03-01T00:00:00Z"))
	weighted.Choices, weighted.VotedDayOnly = nil, true
	weighted.SetWeights([]string{"1", "2", "3"}, []decimal.Decimal{
		decimal.NewFromInt(1), decimal.NewFromInt(1), decimal.NewFromInt(1),
	})
	appendAll(t, w, approve, empty, zero, weighted)

	got := tally(t, w, "mixed")
	type plain struct {
		Votes                     uint64
		Power, Supporting         string
		Choices                   map[string]string
		Last                      string
		Undated, DayOnly, Rounded uint64
	}
	shown := plain{
		got.Votes, got.Power.String(), got.SupportingPower.String(),
		map[string]string{},
		got.LastVotedAt.String(), got.Undated, got.DayOnly, got.Rounded,
	}
	for key, score := range got.Choices {
		shown.Choices[key] = score.Power.String()
	}
	want := plain{
		Votes: 4, Power: "1234567890123456789012345678901234567900.123456789012345679", Supporting: "10.000000000000000001",
		Choices: map[string]string{"1": "3.333333333333333335", "2": "3.333333333333333333", "3": "3.333333333333333334"},
		Last:    "2026-03-01T10:00:00.500Z", Undated: 2, DayOnly: 1, Rounded: 1,
	}
	env.WantSame(t, "tally", want, shown)
	env.Want(t, 2, got.Choices["2"].Votes, "votes for choice 2, one of no power, one weighted")
}

func TestRankedBallotsAreGroupedByPreference(t *testing.T) {
	t.Parallel()
	w := open(t)
	var casts []record.Record
	for voter, order := range map[string][]string{"0xa": {"1", "2"}, "0xb": {"1", "2"}, "0xc": {"2", "1"}} {
		b := ballot("ranked", voter, "v"+voter, order[0], "2", nil)
		b.Choices = order
		casts = append(casts, b)
	}
	appendAll(t, w, casts...)
	hash := ref("ranked").Hash()
	rankings := env.Must(counts.Rankings(t.Context(), w, []record.RefHash{hash}))(t)
	want := []governance.Ranking{
		{Choices: []string{"1", "2"}, Form: governance.NumberForm, Votes: 2, Power: decimal.NewFromInt(4)},
		{Choices: []string{"2", "1"}, Form: governance.NumberForm, Votes: 1, Power: decimal.NewFromInt(2)},
	}
	env.WantSame(t, "rankings", want, rankings[hash], cmp.Comparer(func(a, b decimal.Decimal) bool { return a.Equal(b) }))
}

func TestProposalIsReadAsAppended(t *testing.T) {
	t.Parallel()
	w := open(t)
	votes, quorum := uint64(3), decimal.RequireFromString("0.000000000000000001")
	full := &record.Proposal{
		ProposalRef: ref("full"), SourceID: "space.eth", Title: "Título ✨", Body: "one line\nanother",
		ProposerID: "0xa", SourceURL: "https://example.org/1", DiscussionURL: "https://forum.example.org/t/1",
		VoteType: governance.Weighted, State: "closed", Choices: []string{"Yes", "No"}, QuorumRaw: "1e-18", Quorum: &quorum,
		CreatedAt: at("2026-01-01T00:00:00.001Z"), UpdatedAt: at("2026-01-02T00:00:00Z"),
		StartAt: at("2026-01-03T00:00:00Z"), EndAt: at("2261-12-31T23:59:59.999Z"), EndDayOnly: true,
		StatedScores: []decimal.Decimal{quorum, quorum}, StatedScoresTotal: &quorum, StatedVotes: &votes, Flagged: true,
		UpstreamID: "u", UpstreamType: "grant", UpstreamStatus: "enacted",
		Milestones: []record.Milestone{{Type: "executed", At: at("2026-02-01T00:00:00Z"), TxHash: "0x1"}, {Type: "queued"}},
	}
	bare := &record.Proposal{ProposalRef: ref("bare"), SourceID: "space.eth"}
	appendAll(t, w, full, bare)
	got := env.Must(records.Proposals(t.Context(), w, []record.RefHash{full.Hash(), bare.Hash(), ref("unknown").Hash()}))(t)
	found := map[string]record.Proposal{}
	for _, p := range got {
		found[p.ExternalID] = p.Proposal
	}
	bare.Choices, bare.StatedScores, full.Milestones[1].TxHash = []string{}, []decimal.Decimal{}, ""
	equal := cmp.Comparer(func(a, b decimal.Decimal) bool { return a.Equal(b) })
	env.WantSame(t, "proposals", map[string]record.Proposal{"full": *full, "bare": *bare}, found, equal)
}

func TestEveryKindOfRecordCanBeAppended(t *testing.T) {
	t.Parallel()
	w := open(t)
	about := ref("p")
	for _, r := range []record.Record{
		&record.DAO{ID: "d", Name: "D", Sources: []record.SourceRef{{Provider: governance.Snapshot, ID: "d.eth"}}},
		&record.Source{SourceRef: record.SourceRef{Provider: governance.Snapshot, ID: "d.eth"}, Name: "D"},
		&record.Category{Host: "forum.d.org", ID: "1", Name: "General"},
		&record.Proposal{ProposalRef: about, SourceID: "d.eth"},
		&record.Topic{Host: "forum.d.org", ExternalID: "7", Title: "T", Tags: []string{"a"}, Visible: true},
		ballot("p", "0xa", "v", "1", "1", nil),
		&record.Event{ID: "e", Type: "proposal_created", At: *at("2026-01-01"), DAOID: "d", Proposal: &about},
		&record.Signal{ID: "s", Type: "close_race", DAOID: "d", Evidence: "{}", DetectedAt: *at("2026-01-01")},
		&record.Evidence{Proposal: about, GeneratedAt: *at("2026-01-01"), Dossier: "{}", SourceRefs: "[]", Warnings: "[]"},
		&record.Action{Proposal: about, Chain: "eip155:1", Target: "0x1", Value: "0"},
		&record.Delegation{Placed: record.Placed{Scope: tokenA, Block: 1}, Delegator: "0xa", Delegates: []string{"0xb"}},
		&record.DelegatePower{Placed: record.Placed{Scope: tokenA, Block: 1}, Delegate: "0xb", Power: decimal.NewFromInt(1)},
		&record.TokenSupply{Placed: record.Placed{Scope: tokenA, Block: 1}, Supply: decimal.NewFromInt(1)},
		&record.Name{Voter: "0xb", Source: governance.NameOfENS, Name: "b.eth", Verified: true},
	} {
		env.Want(t, records.Counts{New: 1}, appendAll(t, w, r), r.Kind())
		env.Want(t, records.Counts{Unchanged: 1}, appendAll(t, w, r), r.Kind(), "again")
	}
}

func TestBallotsWaitForTheirProposal(t *testing.T) {
	t.Parallel()
	w := open(t)
	appendAll(t, w, ballot("late", "0xa", "v1", "1", "1", nil), ballot("late", "0xb", "v2", "1", "1", nil))
	waiting := func() uint64 {
		return env.Must(records.WaitingBallots(t.Context(), w))(t)
	}
	env.Want(t, 2, waiting(), "waiting ballots")
	appendAll(t, w, &record.Proposal{ProposalRef: ref("late"), SourceID: "s"})
	env.Want(t, 0, waiting(), "waiting ballots after the proposal came")
}

func TestAbandonedBatchIsCommitted(t *testing.T) {
	t.Parallel()
	w, url := openURL(t)
	hash := ref("p").Hash()
	for _, age := range []string{"10 MINUTE", "1 SECOND"} {
		env.MustDo(t, raw(t, url).Exec(t.Context(), "INSERT INTO batches (batch_id, import_id, sealed, changed_at, proposals, first_version) "+
			"SELECT generateUUIDv4(1), generateUUIDv4(2), 0, now64(6) - INTERVAL "+age+", [unhex(?)], 7", hexOf(hash)))
	}
	env.MustDo(t, records.CommitAbandoned(t.Context(), w))
	journal := env.Must(feed.JournalSince(t.Context(), w, time.Now().Add(-time.Minute)))(t)
	if len(journal) != 1 || journal[0].FirstVersion != 7 {
		t.Errorf("got %+v, want the lowest version of the batch's records, 7", journal)
	}
	batches := env.Must(records.CommittedBatches(t.Context(), w, time.Now().Add(-time.Minute)))(t)
	if len(batches) != 1 || !batches[0].Changes.Proposals[hash] {
		t.Errorf("got %+v, want the one abandoned batch", batches)
	}
}

func TestRecordsOfDeadImportArePartOfNextBatch(t *testing.T) {
	t.Parallel()
	w, url := openURL(t)
	b := ballot("p", "0xa", "v1", "1", "1", nil)
	appendAll(t, w, b)
	conn := raw(t, url)
	// As if the import had died between its write and its commit.
	mustExec(t, conn, "ALTER TABLE batches DELETE WHERE sealed = 1 SETTINGS mutations_sync = 1")
	env.Want(t, 1, appendAll(t, w, b).Unchanged, "the ballot unchanged")
	batches := env.Must(records.CommittedBatches(t.Context(), w, time.Now().Add(-time.Minute)))(t)
	if len(batches) != 1 || !batches[0].Changes.Proposals[ref("p").Hash()] {
		t.Errorf("got %+v, want the proposal changed again", batches)
	}
}

func hexOf(hash record.RefHash) string { return hex.EncodeToString(hash[:]) }

func TestCatalogGivesEverySourceToOneDAO(t *testing.T) {
	t.Parallel()
	w := open(t)
	claimed := record.SourceRef{Provider: governance.Snapshot, ID: "claimed.eth"}
	appendAll(t, w,
		&record.DAO{ID: "b", Name: "B", Sources: []record.SourceRef{claimed}},
		&record.DAO{ID: "a", Name: "A", Sources: []record.SourceRef{claimed, {Provider: governance.Tally, ID: "a"}}})
	appendAll(t, w, &record.Source{SourceRef: record.SourceRef{Provider: governance.Snapshot, ID: "own.eth"}, Name: "Own"})
	for _, id := range []string{"former.eth", "nameless.eth"} { // a source that has no record any more is none
		appendAll(t, w, &record.Proposal{ProposalRef: ref("p"), SourceID: id})
	}
	appendAll(t, w,
		&record.Topic{Host: "forum.a.org", ExternalID: "1", Visible: true, UpdatedAt: at("2026-01-02")},
		&record.Topic{Host: "forum.a.org", ExternalID: "2", UpdatedAt: at("2026-01-03")})
	catalog := env.Must(records.ReadCatalog(t.Context(), w))(t)
	catalog = env.Must(records.WithRecords(t.Context(), w, catalog))(t)
	names := map[string]string{}
	for id, dao := range catalog.DAOs {
		names[id] = dao.Name
	}
	want := map[string]string{"a": "A", "b": "B", "own.eth": "Own", "nameless.eth": "nameless.eth", "forum.a.org": "forum.a.org"}
	env.WantSame(t, "DAOs", want, names)
	env.Want(t, "a", catalog.Owner[claimed], claimed, "belongs to the first in order of ids")
	forum := catalog.Sources[record.SourceRef{Provider: governance.Discourse, ID: "forum.a.org"}]
	if forum.Topics != 1 || *forum.LatestTopicAt != *at("2026-01-02") {
		t.Errorf("got %d topics, latest %v, want the visible one", forum.Topics, forum.LatestTopicAt)
	}
}

func TestAttackAnUnclaimedSourceJoinsNoDAOByItsID(t *testing.T) {
	t.Parallel()
	w := open(t)
	slug, space := record.SourceRef{Provider: governance.Tally, ID: "harbor"}, record.SourceRef{Provider: governance.Snapshot, ID: "harbor"}
	claimed := record.SourceRef{Provider: governance.Snapshot, ID: "harbor.eth"}
	appendAll(t, w, &record.DAO{ID: "harbor", Name: "Harbor", Sources: []record.SourceRef{claimed}})
	appendAll(t, w, &record.Source{SourceRef: slug, Name: "Not Harbor"}, &record.Source{SourceRef: space, Name: "Nor this"})
	catalog := env.Must(records.ReadCatalog(t.Context(), w))(t)
	want := map[record.SourceRef]string{claimed: "harbor", slug: "tally:harbor", space: "snapshot:harbor"}
	env.WantSame(t, "owners", want, catalog.Owner)
	if got := catalog.DAOs["harbor"].Sources; len(got) != 1 {
		t.Errorf("got sources %v of harbor, want the declared one", got)
	}
	if got := catalog.OwnerOf(record.SourceRef{Provider: governance.Discourse, ID: "harbor"}); got == "harbor" {
		t.Error("a source that is not known belongs to a declared DAO by its id")
	}
}

func TestAnalystsReadTheDAOsOfTheCatalog(t *testing.T) {
	t.Parallel()
	w, conn := openViews(t)
	source := func(provider governance.Provider, id, name string, flagged bool) *record.Source {
		return &record.Source{SourceRef: record.SourceRef{Provider: provider, ID: id}, Name: name, Flagged: flagged}
	}
	harbors := []record.SourceRef{{Provider: governance.Snapshot, ID: "harbor.eth"}}
	appendAll(t, w, &record.DAO{ID: "harbor", Name: "Harbor", Sources: harbors}, &record.DAO{ID: "later", Name: "Later", Sources: harbors})
	appendAll(t, w, source(governance.Snapshot, "harbor.eth", "Harbor's", true), source(governance.Tally, "harbor", "Not Harbor", false),
		source(governance.Snapshot, "port", "Port", false), source(governance.Tally, "port", "Another port", true), source(governance.Tally, "nameless", "", false))
	appendAll(t, w, &record.Proposal{ProposalRef: ref("p"), SourceID: "harbor"})
	writeStates(t, w, counts.ProposalState{
		Ref: ref("p").Hash(), SourceID: "harbor", Revision: 1, Identity: governance.Identity{DAOID: "snapshot:harbor", Provider: governance.Snapshot, ExternalID: "p"},
	})
	catalog, want := env.Must(records.ReadCatalog(t.Context(), w))(t), []string{}
	for id, dao := range catalog.DAOs {
		want = append(want, fmt.Sprint(id, " ", dao.Name, " ", len(dao.Sources) > 0 && catalog.Sources[dao.Sources[0]].Flagged))
	}
	slices.Sort(want)
	env.WantSame(t, "DAOs", want, env.Column(t, conn, "SELECT concat(dao_id, ' ', name, ' ', toString(flagged)) FROM daos ORDER BY dao_id"))
}

func TestAttackAClockThatIsSetBackLosesNoChange(t *testing.T) {
	t.Parallel()
	w := open(t)
	a, now := accounts.NewAccounts(w), time.Now().UTC().Truncate(time.Millisecond)
	token := accounts.Token{ID: "t", Plan: "developer", Hash: [32]byte{1}, CreatedAt: now}
	endpoint := accounts.Webhook{ID: "e", URL: "https://a.org", Types: []string{"*"}, CreatedAt: now, EnabledAt: now}
	put := func(removed bool) {
		env.MustDo(t, a.PutToken(t.Context(), token))
		env.MustDo(t, a.PutWebhook(t.Context(), endpoint, removed))
	}
	put(false)
	env.MustDo(t, a.PutWebhookState(t.Context(), endpoint))
	logs := []records.ChainLog{{ChainID: 1, BlockNumber: 5, Topics: []string{}}}
	env.MustDo(t, records.WriteChainLogs(t.Context(), w, logs))
	env.MustDo(t, records.WriteFollowCursors(t.Context(), w, []records.FollowCursor{{Upstream: "chain 1", Provider: governance.Tally}}))
	const later = "version + 3600000000 AS version"
	for table, ahead := range map[string]string{ // what was written an hour ahead
		"tokens": "changed_at + INTERVAL 1 HOUR AS changed_at", "webhook_endpoints": "changed_at + INTERVAL 1 HOUR AS changed_at",
		"webhook_states": later, "chain_logs": later, "follows": later,
	} {
		env.MustDo(t, w.Conn.Exec(t.Context(), "INSERT INTO "+table+" SELECT * REPLACE ("+ahead+") FROM "+table))
	}
	endpoint.DisabledAt = now.Add(time.Second)
	env.MustDo(t, a.PutWebhookState(t.Context(), endpoint))
	if on := env.Must(a.Webhooks(t.Context()))(t); len(on) != 1 || on[0].Active() {
		t.Errorf("got endpoints %v, want the one that was turned off", on)
	}
	env.Must(records.FollowCursors(t.Context(), w, ""))(t) // as a follower does that begins
	logs[0].Withdrawn = true
	env.MustDo(t, records.WriteChainLogs(t.Context(), w, logs))
	if held := env.Must(records.ChainLogs(t.Context(), w, 1, 5, 5))(t); len(held) != 1 || !held[0].Withdrawn {
		t.Errorf("got logs %v, want the one that was withdrawn", held)
	}
	token.Hash = [32]byte{2}
	put(true)
	tokens, endpoints := env.Must(a.Tokens(t.Context()))(t), env.Must(a.Webhooks(t.Context()))(t)
	if len(tokens) != 1 || tokens[0].Hash != token.Hash || len(endpoints) != 0 {
		t.Errorf("got tokens %v and endpoints %v, want the rotated token, and no endpoint", tokens, endpoints)
	}
}

func TestSigningKeyIsCreatedOnce(t *testing.T) {
	t.Parallel()
	w, url := openURL(t)
	first := env.Must(accounts.NewAccounts(w).SigningKey(t.Context(), "cursor"))(t)
	second := env.Must(accounts.NewAccounts(openAt(t, warehouse.Options{URL: url})).SigningKey(t.Context(), "cursor"))(t)
	if string(first) != string(second) || len(first) != 32 {
		t.Errorf("got %d and %d bytes that differ, want the same 32", len(first), len(second))
	}
	other, err := accounts.NewAccounts(w).SigningKey(t.Context(), "another")
	if err != nil || string(other) == string(first) {
		t.Errorf("another name has the same key (%v)", err)
	}
}

func TestHTTPProtocol(t *testing.T) {
	t.Parallel()
	instance := env.SharedEngine(t)
	database := env.MigratedDatabase(t, instance)
	w := openAt(t, warehouse.Options{
		URL: "http://" + instance.User + ":" + instance.Password + "@" + instance.HTTPAddr + "/" + database,
	})
	appendAll(t, w, ballot("p", "0xa", "v1", "1", "1.5", nil))
	env.Want(t, 1, appendAll(t, w, ballot("p", "0xa", "v1", "1", "1.5", nil)).Unchanged, "the ballot unchanged")
	env.Want(t, "1.5", tally(t, w, "p").Power.String(), "a power")
	env.Want(t, 0, len(env.Must(records.Casts(t.Context(), w, []record.RefHash{{}}))(t)), "casts on no proposal")
}

// A proxy ends an answer in good order when the server behind it dies, if it takes the end of the connection for the end of the answer.
func TestAnAnswerThatAProxyCutOffIsAnError(t *testing.T) {
	t.Parallel()
	instance := env.SharedEngine(t)
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: instance.HTTPAddr})
	var kept atomic.Int64
	proxy.ModifyResponse = func(answer *http.Response) error {
		if limit := kept.Load(); limit > 0 {
			answer.Body, answer.ContentLength = io.NopCloser(io.LimitReader(answer.Body, limit)), -1
			answer.Header.Del("Content-Length")
		}
		return nil
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	w := openAt(t, warehouse.Options{
		URL: "http://" + instance.User + ":" + instance.Password + "@" + server.Listener.Addr().String() + "/" + env.MigratedDatabase(t, instance),
	})
	for _, limit := range []int64{1, 1000, 30_000, 60_000} {
		kept.Store(limit)
		rows, err := warehouse.Find[uint64](t.Context(), w, "count", "SELECT number FROM numbers(100000) SETTINGS max_block_size = 1000")
		if err == nil {
			t.Errorf("cut off after %d bytes: got %d rows, want an error", limit, len(rows))
		}
	}
}

func TestUnreachableServerIsNamedWithoutPassword(t *testing.T) {
	t.Parallel()
	listener := env.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	address := listener.Addr().String()
	listener.Close()
	_, err := warehouse.Open(t.Context(), warehouse.Options{URL: "clickhouse://someone:secret@" + address})
	if !errors.Is(err, warehouse.ErrUnreachable) || !strings.Contains(err.Error(), address) {
		t.Errorf("got %v, want %v with the address", err, warehouse.ErrUnreachable)
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the error shows the password: %v", err)
	}
}

func TestQueriesAreBounded(t *testing.T) {
	t.Parallel()
	w, url := openURL(t)
	var casts []record.Record
	for i := range 1000 {
		casts = append(casts, ballot("p", uuid.NewString(), uuid.NewString(), "1", decimal.NewFromInt(int64(i)).String(), nil))
	}
	appendAll(t, w, casts...)
	few := warehouse.Options{URL: url, MaxRows: 100, Logger: slog.New(slog.DiscardHandler)}
	bounded := env.Must(warehouse.Open(t.Context(), few))(t)
	defer bounded.Close()
	_, err := counts.VoteTotalsOf(t.Context(), bounded, []record.RefHash{ref("p").Hash()})
	env.WantPart(t, "rows", fmt.Sprint(err), "an error about the limit on rows")
}

func TestCatalogKnowsTheNewestPastRecordOfASource(t *testing.T) {
	t.Parallel()
	w := open(t)
	dated := func(id, created, updated string) *record.Proposal {
		p := &record.Proposal{ProposalRef: ref(id), SourceID: "dao.eth", CreatedAt: at(created)}
		if updated != "" {
			p.UpdatedAt = at(updated)
		}
		return p
	}
	appendAll(t, w, dated("a", "2024-01-01T00:00:00Z", "2024-02-01T00:00:00Z"), dated("b", "2024-01-15T00:00:00Z", ""), dated("c", "2099-01-01T00:00:00Z", ""))
	space := record.SourceRef{Provider: governance.Snapshot, ID: "dao.eth"}
	run := records.Import{ID: uuid.New(), ObservedAt: time.Now().UTC().Truncate(time.Millisecond), AsOf: at("2024-03-01T00:00:00Z")}
	env.MustDo(t, records.MarkSynced(t.Context(), w, run, record.KindProposal, []record.SourceRef{space}, false))
	run.ObservedAt, run.AsOf = run.ObservedAt.Add(time.Second), at("2024-04-01T00:00:00Z")
	env.MustDo(t, records.MarkSynced(t.Context(), w, run, record.KindProposal, []record.SourceRef{space}, true))
	catalog := env.Must(records.ReadCatalog(t.Context(), w))(t)
	catalog = env.Must(records.WithRecords(t.Context(), w, catalog))(t)
	got := catalog.Sources[space]
	if diff := cmp.Diff([]*governance.Timestamp{at("2024-03-01T00:00:00Z"), at("2024-02-01T00:00:00Z")}, []*governance.Timestamp{got.AsOf, got.NewestRecordAt}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// aging forwards connections to a ClickHouse server, which greets as version 25.8.
func aging(t *testing.T, address string) (forward string) {
	t.Helper()
	listener := env.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { listener.Close() })
	serve := func(client net.Conn) {
		defer client.Close()
		server, err := net.Dial("tcp", address)
		if err != nil {
			return
		}
		defer server.Close()
		go func() { _, _ = io.Copy(server, client) }()
		hello := make([]byte, 4096)
		n, _ := server.Read(hello)
		if at := bytes.Index(hello[:n], []byte("ClickHouse")); at > 0 {
			copy(hello[at+len("ClickHouse"):], []byte{25, 8})
		}
		_, _ = client.Write(hello[:n])
		_, _ = io.Copy(client, server)
	}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go serve(client)
		}
	}()
	return listener.Addr().String()
}

func TestAnOldClickHouseIsRefused(t *testing.T) {
	t.Parallel()
	address := env.Must(url.Parse(env.DatabaseURL(t)))(t)
	address.Host = aging(t, address.Host)
	_, err := warehouse.Open(t.Context(), warehouse.Options{
		URL: address.String(), QueryTimeout: time.Minute, MaxMemory: 1 << 30, Logger: slog.New(slog.DiscardHandler),
	})
	if err == nil || !strings.Contains(err.Error(), "is ClickHouse 25.8; want at least 26.7") {
		t.Errorf("got %v, want that the server is too old", err)
	}
}
