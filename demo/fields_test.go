package demo_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pnyx/demo"
)

// documented returns the fields of each kind of file, as their publishers name them.
// Nested fields have their path.
func documented() map[string]string {
	return map[string]string{
		"daos.ndjson":               "daoId name sources sources.provider sources.id",
		"snapshot/spaces.ndjson.gz": "id name network symbol",
		"snapshot/proposals.ndjson.gz": "id space space.id author created updated start end type title body discussion choices quorum state link scores scores_total votes flagged" +
			" start_day end_day plugins plugins.safeSnap plugins.safeSnap.safes plugins.safeSnap.safes.network plugins.safeSnap.safes.realityAddress" +
			" plugins.safeSnap.safes.txs plugins.safeSnap.safes.txs.to plugins.safeSnap.safes.txs.value plugins.safeSnap.safes.txs.data" +
			" plugins.safeSnap.safes.txs.operation",
		"snapshot/votes/*":              "id proposal proposal.id space space.id voter created choice vp reason created_day",
		"tally/organizations.ndjson.gz": "id name slug",
		"tally/proposals.ndjson.gz": "id onchainId organization organization.slug status quorum metadata metadata.title metadata.description metadata.discourseURL" +
			" metadata.snapshotURL proposer proposer.address start start.timestamp end end.timestamp createdAt events events.type events.txHash events.block" +
			" events.block.timestamp voteStats voteStats.type voteStats.votesCount voteStats.votersCount executableCalls executableCalls.target executableCalls.value" +
			" executableCalls.calldata executableCalls.signature executableCalls.chainId",
		"tally/votes.ndjson.gz":            "id proposal proposal.id type voter voter.address amount reason txHash block block.timestamp",
		"discourse/*/categories.ndjson.gz": "id name slug",
		"discourse/*/topics.ndjson.gz": "id title slug category_id tags posts_count reply_count views like_count created_at last_posted_at closed archived visible details" +
			" details.created_by details.created_by.username post_stream post_stream.posts post_stream.posts.cooked",
	}
}

func checkFields(t *testing.T, d data, _ demo.Summary) {
	t.Helper()
	for pattern, want := range documented() {
		found := map[string]bool{}
		for _, path := range glob(t, d.dir, pattern) {
			for _, line := range lines(t, d.dir, path) {
				var value map[string]any
				if err := json.Unmarshal(line, &value); err != nil {
					t.Fatal(err)
				}
				delete(value, "choice") // Its keys are choices.
				collect(found, "", value)
			}
		}
		if pattern == "snapshot/votes/*" {
			found["choice"] = true
		}
		got, wanted := make([]string, 0, len(found)), strings.Fields(want)
		for field := range found {
			got = append(got, field)
		}
		slices.Sort(got)
		slices.Sort(wanted)
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Errorf("got other fields in %s (-want +got):\n%s", pattern, diff)
		}
	}
}

// collect adds the paths of all fields of a value to found.
func collect(found map[string]bool, path string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, field := range value {
			at := strings.TrimPrefix(path+"."+name, ".")
			found[at] = true
			collect(found, at, field)
		}
	case []any:
		for _, element := range value {
			collect(found, path, element)
		}
	}
}
