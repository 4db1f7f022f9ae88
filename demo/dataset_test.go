package demo_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pnyx/demo"
	"pnyx/test/env"
)

// now is Options.Now in these tests.
var now = time.Date(2026, time.November, 21, 9, 30, 0, 0, time.UTC)

// data is a generated data set, decoded by the published formats. Unknown fields are
// errors.
type data struct {
	dir           string
	daos          []dao
	spaces        []space
	proposals     []snapshotProposal
	votes         []snapshotVote
	organizations []organization
	onChain       []tallyProposal
	onChainVotes  []tallyVote
	categories    map[string][]category
	topics        map[string][]topic
}

type dao struct {
	DAOID     string `json:"daoId"`
	Name      string
	Sources   []struct{ Provider, ID string }
	Tokens    []string
	Contracts []struct{ ID, Name string }
}

type space struct {
	ID                    string
	Name, Network, Symbol *string
}

type ref struct{ ID string }

type snapshotProposal struct {
	ID                      string
	Space                   ref
	Author                  *string
	Created, Start, End     *int64
	Updated                 *int64
	Type                    string
	Title, Body, Discussion *string
	Choices                 []string
	Quorum                  *json.Number
	State                   *string
	Link                    string
	Scores                  []json.Number
	ScoresTotal             *json.Number `json:"scores_total"`
	Votes                   *int
	Flagged                 *bool
	StartDay                string `json:"start_day"`
	EndDay                  string `json:"end_day"`
	Plugins                 struct {
		SafeSnap *struct {
			Safes []struct {
				Network, RealityAddress string
				Txs                     [][]struct{ To, Value, Data, Operation string }
			}
		}
	}
	hasUpdated, hasFlaggedKey bool
}

type snapshotVote struct {
	ID         string
	Proposal   ref
	Space      ref
	Voter      string
	Created    *int64
	CreatedDay *string `json:"created_day"`
	Choice     json.RawMessage
	VP         json.Number
	Reason     *string
	line       string
}

type organization struct{ ID, Name, Slug string }

type timestamp struct{ Timestamp *time.Time }

type tallyProposal struct {
	ID, OnchainID string
	Organization  struct{ Slug string }
	Status        string
	Quorum        *string
	Metadata      struct {
		Title                                  string
		Description, DiscourseURL, SnapshotURL *string
	}
	Proposer   struct{ Address *string }
	Start, End timestamp
	CreatedAt  *time.Time
	Events     []struct {
		Type, TxHash string
		Block        timestamp
	}
	VoteStats []struct {
		Type        string
		VotesCount  string
		VotersCount int
	}
	ExecutableCalls []call
}

// call is a call that a proposal executes.
type call struct {
	Target, Value, Calldata, Signature, ChainID string
}

type tallyVote struct {
	ID       string
	Proposal ref
	Type     string
	Voter    struct{ Address string }
	Amount   string
	Reason   *string
	TxHash   string
	Block    timestamp
	line     string
}

type category struct {
	ID         int
	Name, Slug string
}

type topic struct {
	ID           int
	Title, Slug  string
	CategoryID   int `json:"category_id"`
	Tags         []string
	PostsCount   int       `json:"posts_count"`
	ReplyCount   int       `json:"reply_count"`
	Views        int       `json:"views"`
	LikeCount    int       `json:"like_count"`
	CreatedAt    time.Time `json:"created_at"`
	LastPostedAt time.Time `json:"last_posted_at"`
	Closed       bool
	Archived     bool
	Visible      bool
	Details      *struct {
		CreatedBy struct{ Username string } `json:"created_by"`
	}
	PostStream *struct{ Posts []struct{ Cooked string } } `json:"post_stream"`
}

// write generates a data set into a folder of its own.
func write(t *testing.T, o demo.Options) (string, demo.Summary) {
	t.Helper()
	o.Dir = filepath.Join(t.TempDir(), "data")
	summary := env.Must(demo.Write(t.Context(), o, nil))(t)
	return o.Dir, summary
}

// read reads a data set back.
func read(t *testing.T, dir string) data {
	t.Helper()
	d := data{dir: dir, categories: map[string][]category{}, topics: map[string][]topic{}}
	d.daos = records[dao](t, dir, "daos.ndjson")
	d.spaces = records[space](t, dir, "snapshot/spaces.ndjson.gz")
	for _, line := range lines(t, dir, "snapshot/proposals.ndjson.gz") {
		p := decode[snapshotProposal](t, line)
		p.hasUpdated = bytes.Contains(line, []byte(`,"updated":`))
		p.hasFlaggedKey = bytes.Contains(line, []byte(`,"flagged":`))
		d.proposals = append(d.proposals, p)
	}
	for _, path := range glob(t, dir, "snapshot/votes/*") {
		for _, line := range lines(t, dir, path) {
			vote := decode[snapshotVote](t, line)
			vote.line = string(line)
			d.votes = append(d.votes, vote)
		}
	}
	d.organizations = records[organization](t, dir, "tally/organizations.ndjson.gz")
	d.onChain = records[tallyProposal](t, dir, "tally/proposals.ndjson.gz")
	for _, line := range lines(t, dir, "tally/votes.ndjson.gz") {
		vote := decode[tallyVote](t, line)
		vote.line = string(line)
		d.onChainVotes = append(d.onChainVotes, vote)
	}
	for _, path := range glob(t, dir, "discourse/*/topics.ndjson.gz") {
		folder := filepath.Dir(path)
		d.topics[filepath.Base(folder)] = records[topic](t, dir, path)
		d.categories[filepath.Base(folder)] = records[category](t, dir, folder+"/categories.ndjson.gz")
	}
	return d
}

func records[T any](t *testing.T, dir, path string) []T {
	t.Helper()
	var all []T
	for _, line := range lines(t, dir, path) {
		all = append(all, decode[T](t, line))
	}
	return all
}

func decode[T any](t *testing.T, line []byte) T {
	t.Helper()
	var value T
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	return value
}

// lines returns the lines of a file, none if it does not exist.
func lines(t *testing.T, dir, path string) [][]byte {
	t.Helper()
	text := content(t, filepath.Join(dir, path))
	var all [][]byte
	scanner := bufio.NewScanner(bytes.NewReader(text))
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		if !json.Valid(scanner.Bytes()) {
			t.Fatalf("got a line of %s that is not JSON: %s", path, scanner.Bytes())
		}
		all = append(all, bytes.Clone(scanner.Bytes()))
	}
	env.MustDo(t, scanner.Err())
	return all
}

// content returns the decompressed content of a file.
func content(t *testing.T, path string) []byte {
	t.Helper()
	packed, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(path, ".gz") {
		return packed
	}
	reader := env.Must(gzip.NewReader(bytes.NewReader(packed)))(t)
	return env.Must(io.ReadAll(reader))(t)
}

// glob returns the paths in a data set that match a pattern, relative to it.
func glob(t *testing.T, dir, pattern string) []string {
	t.Helper()
	paths := env.Must(filepath.Glob(filepath.Join(dir, pattern)))(t)
	for i, path := range paths {
		paths[i] = env.Must(filepath.Rel(dir, path))(t)
	}
	return paths
}
