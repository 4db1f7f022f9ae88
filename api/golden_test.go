package api_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pnyx/api/routes"
	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/reference/openapi"
	"pnyx/test/env"
	"pnyx/test/openapitest"
)

var update = flag.Bool("update", false, "write the answers to testdata instead of comparing them")

// goldens are requests whose answers are in testdata, to the last byte but for
// indentation.
func goldens() map[string]string {
	return map[string]string{
		"data_status":                 "/v2/meta/data-status",
		"data_status_of_a_dao":        "/v2/meta/data-status?daoId=uniswap",
		"daos":                        "/v2/daos",
		"daos_first_page":             "/v2/daos?limit=1",
		"daos_filtered":               "/v2/daos?hasVoteData=true&hasForumData=true&coverageStatus=complete&limit=100",
		"daos_without_any":            "/v2/daos?hasVoteData=true&coverageStatus=partial",
		"dao":                         "/v2/daos/uniswap",
		"proposal":                    "/v2/proposals/" + string(countedKey),
		"proposal_with_little_known":  "/v2/proposals/" + string(uncountedKey),
		"vote_summary":                "/v2/proposals/" + string(countedKey) + "/votes/summary",
		"vote_summary_not_ready":      "/v2/proposals/" + string(uncountedKey) + "/votes/summary",
		"evidence":                    "/v2/proposals/" + string(countedKey) + "/evidence",
		"evidence_with_little_known":  "/v2/proposals/" + string(uncountedKey) + "/evidence",
		"forum_topic":                 "/v2/forum-topics/" + string(talkKey),
		"error_no_such_topic":         "/v2/forum-topics/" + string(unknownTopicKey),
		"error_malformed_topic_key":   "/v2/forum-topics/" + string(countedKey),
		"events":                      "/v2/events?from=2026-01-01&to=2026-02-01",
		"signals":                     "/v2/signals?from=2026-01-01&to=2026-02-01",
		"error_no_such_path":          "/v2/brief",
		"error_almost_a_path":         "/v2/dao/uniswap",
		"error_no_such_dao":           "/v2/daos/nobody",
		"error_no_such_dao_status":    "/v2/meta/data-status?daoId=nobody",
		"error_no_such_proposal":      "/v2/proposals/" + string(unknownKey),
		"error_malformed_key":         "/v2/proposals/0x8b8f",
		"error_several_parameters":    "/v2/daos?hasVoteData=yes&coverageStatus=most&limit=101&cursor=&hasForumData=true&hasForumData=false&includeVotes=1",
		"error_a_cursor_made_up":      "/v2/daos?cursor=abc",
		"error_parameter_of_no_route": "/v2/daos/uniswap?includeLive=true",
	}
}

func TestAnswersMatchGoldenFiles(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for name, path := range goldens() {
		t.Run(name, func(t *testing.T) {
			got := n.ask(http.MethodGet, path, http.Header{"X-Request-Id": {"golden"}})
			var text bytes.Buffer
			if err := json.Indent(&text, []byte(got.body), "", "  "); err != nil {
				t.Errorf("%s: %v in %s", path, err, got.body)
				return
			}
			file := filepath.Join("testdata", name+".json")
			if *update {
				env.MustDo(t, os.WriteFile(file, text.Bytes(), 0o600))
				return
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Errorf("%s: %v", path, err)
				return
			}
			env.WantSame(t, path, string(want), text.String())
		})
	}
}

func TestEveryGoldenFileIsUsed(t *testing.T) {
	t.Parallel()
	env.Want(t, len(goldens()), len(env.Must(filepath.Glob(filepath.Join("testdata", "*.json")))(t)), "files")
}

func TestHEADIsGETWithoutTheBody(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for name, path := range goldens() {
		t.Run(name, func(t *testing.T) {
			id := http.Header{"X-Request-Id": {"same"}}
			get, head := n.ask(http.MethodGet, path, id), n.ask(http.MethodHead, path, id)
			if head.status != get.status || head.body != "" {
				t.Errorf("HEAD %s: got %d with %d bytes, want %d with none", path, head.status, len(head.body), get.status)
			}
			if got, want := head.header.Get("Content-Length"), strconv.Itoa(len(get.body)); got != want {
				t.Errorf("HEAD %s: got a length of %s, want %s (%s)", path, got, want, name)
			}
			for _, differs := range []string{"Date", "Server-Timing", "Cache-Status"} {
				get.header.Del(differs)
				head.header.Del(differs)
			}
			env.WantSame(t, "HEAD "+path, get.header, head.header)
		})
	}
}

func TestGoldenFilesMatchTheOpenAPIDocument(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	contract := openapitest.New(t, []byte(n.get("/openapi/agent-v2.json").body))
	for name, path := range goldens() {
		for _, route := range routes.All() {
			if !matches(route.Path, path) {
				continue
			}
			got := n.get(path)
			if err := contract.Check(openapi.PathTemplate(route.Path), got.status, got.header, []byte(got.body)); err != nil {
				t.Errorf("%s: %v", filepath.Join("testdata", name), err)
			}
			break
		}
	}
}

// matches says whether a request asks for a route.
func matches(route, request string) bool {
	path, _, _ := strings.Cut(request, "?")
	want, got := strings.Split(route, "/"), strings.Split(path, "/")
	return slices.EqualFunc(want, got, func(w, g string) bool { return w == g || strings.HasPrefix(w, ":") })
}

// Proposals of the samples.
const (
	countedKey   governance.ProposalKey = "p1_f_XfJz_6yGy1gCgoSU2qbg"
	uncountedKey governance.ProposalKey = "p1_QTih_6Tc8DCYv4aSbi5x1Q"
	// unknownKey is of none.
	unknownKey governance.ProposalKey = "p1_AAAAAAAAAAAAAAAAAAAAAA"
	// talkKey is of a topic, unknownTopicKey of none.
	talkKey         governance.TopicKey = "t1_f_XfJz_6yGy1gCgoSU2qbg"
	unknownTopicKey governance.TopicKey = "t1_AAAAAAAAAAAAAAAAAAAAAA"
)

// dataAsOf is when the data of the samples was seen upstream.
var dataAsOf = governance.TimestampOf(noon.Add(-3 * time.Second))

// cursorKey signs the cursors over the samples.
const cursorKey = "sixteen bytes or more"

// publishSamples publishes one of everything, as a worker does.
func (t *node) publishSamples() {
	t.Helper()
	t.write(1, cache.View{Readiness: governance.Ready}, map[cache.Key]any{
		cache.DataStatusKey(""):                globalStatus(),
		cache.DataStatusKey("uniswap"):         uniswapStatus(),
		cache.DAODetailKey("uniswap"):          uniswapDetail(),
		cache.ProposalDetailKey(countedKey):    countedDetail(),
		cache.VoteSummaryKey(countedKey):       countedSummary(),
		cache.EvidenceKey(countedKey):          countedEvidence(),
		cache.ProposalDetailKey(uncountedKey):  uncountedDetail(),
		cache.EvidenceKey(uncountedKey):        uncountedEvidence(),
		cache.TopicDetailKey(talkKey):          talkDetail(),
		cache.DAODetailKey("an id/with: ?#%é"): governance.DAODetail{DAOID: "an id/with: ?#%é"},
	})
	t.write(1, cache.View{Readiness: governance.ReadinessUnavailable}, map[cache.Key]any{
		cache.VoteSummaryKey(uncountedKey): uncountedSummary(),
	})
	t.writeDAOs(1, uniswapRow(), ensRow())
	t.writePage(januaryEvents(), eventRows())
	t.writePage(januarySignals(), signalRows())
	t.publishExamples()
	t.Tokens()
	t.setPublished(cache.PublicationState{
		Revision: 1, CommittedThrough: noon.UnixMicro(),
		HeartbeatAt: governance.TimestampOf(noon.Add(-time.Second)), CursorKey: []byte(cursorKey),
	})
}

// write publishes payloads.
func (t *node) write(revision uint64, head cache.View, payloads map[cache.Key]any) {
	t.Helper()
	head.DataAsOf = dataAsOf
	writer := t.Store.NewWriter(revision)
	for key, payload := range payloads {
		writer.SetPayload(t.Context(), key, head, payload)
	}
	env.MustDo(t, writer.Flush(t.Context()))
}

// writeDAOs publishes rows of the list.
func (t *node) writeDAOs(revision uint64, rows ...governance.DAOListItem) {
	t.Helper()
	writer := t.Store.NewWriter(revision)
	for _, row := range rows {
		writer.SetDAO(t.Context(), cache.View{DataAsOf: dataAsOf, Readiness: governance.Ready}, row)
	}
	env.MustDo(t, writer.Flush(t.Context()))
}

func (t *node) setPublished(state cache.PublicationState) {
	t.Helper()
	env.MustDo(t, env.AnnounceState(t.Context(), t.Store, state))
}

// ago is a moment some seconds before noon.
func ago(seconds int) *governance.Timestamp {
	moment := governance.TimestampOf(noon.Add(-time.Duration(seconds) * time.Second))
	return &moment
}

func globalStatus() governance.DataStatus {
	return governance.DataStatus{
		Scope:                governance.ScopeGlobal,
		LatestSuccessfulSync: governance.LatestSync{GovernanceAt: ago(60), ForumAt: ago(3600)},
		CoverageStatus:       governance.Partial, VoteCoverageStatus: governance.VotesPartial,
	}
}

func uniswapStatus() governance.DataStatus {
	id := "uniswap"
	return governance.DataStatus{
		Scope: governance.ScopeDAO, DAOID: &id,
		LatestSuccessfulSync: governance.LatestSync{GovernanceAt: ago(60)},
		CoverageStatus:       governance.Complete, VoteCoverageStatus: governance.VotesReady,
	}
}

func uniswapDetail() governance.DAODetail {
	return governance.DAODetail{
		DAOID: "uniswap", Name: "Uniswap <DAO> & friends",
		CoverageStatus: governance.Complete, VoteCoverageStatus: governance.VotesReady,
		ProposalCounts: governance.ProposalCounts{Total: 6, Active: 1, Pending: 2, Closed: 3},
		Outcomes:       governance.Outcomes{Passed: 1, Failed: 1, Executed: 1, Unknown: 3},
		Participation: governance.Participation{
			UniqueVoters: "12", TotalVotes: "34", TotalVotingPower: "1234567890123456789012345678901234567890.123456789012345678",
		},
		SourceTypes: []governance.Provider{governance.Discourse, governance.Snapshot, governance.Tally},
	}
}

func uniswapRow() governance.DAOListItem {
	return governance.DAOListItem{
		DAOID: "uniswap", Name: "Uniswap", HasVoteData: true, HasForumData: true,
		CoverageStatus: governance.Complete, VoteCoverageStatus: governance.VotesReady,
		ProposalCounts: governance.ListCounts{Total: 6, Active: 1},
		LatestActivity: governance.LatestActivity{ProposalAt: ago(60), VoteAt: ago(1), ForumAt: ago(3600)},
	}
}

func ensRow() governance.DAOListItem {
	return governance.DAOListItem{
		DAOID: "ens.eth", Name: "ENS", CoverageStatus: governance.Backfilling, VoteCoverageStatus: governance.VotesUnavailable,
	}
}

func countedDetail() governance.ProposalDetail {
	title, body, proposer := "Deploy \"v4\"", "First line\nsecond <line> \u2028 and 民主", "0xabc"
	source, quorum := "https://snapshot.example/#/uniswap/proposal/0x8b8f?a=1&b=2", "40000000"
	return governance.ProposalDetail{
		ProposalKey: countedKey,
		Identity:    governance.Identity{DAOID: "uniswap", Provider: governance.Snapshot, ExternalID: "0x8b8f"},
		Title:       &title, BodyText: &body, ProposerID: &proposer, SourceURL: &source, QuorumRaw: &quorum,
		LifecycleStatus: governance.Closed, Outcome: governance.Passed,
		Choices: []governance.Choice{{Key: "1", Label: "For"}, {Key: "2", Label: "Against"}},
		StartAt: ago(86400), EndAt: ago(60),
	}
}

func countedSummary() governance.VoteSummary {
	title := "Deploy \"v4\""
	return governance.VoteSummary{
		Proposal: governance.SummaryProposal{ProposalKey: countedKey, Title: &title, Outcome: governance.Passed},
		Basis:    new(governance.BallotsBasis),
		Held:     governance.HeldTotals{Votes: "3", VotingPower: "40000000.000000000000000001"},
		Result: &governance.VoteResult{
			ChoiceKey: new("1"), Label: new("For"), MarginPower: "39999999.999999999999999997", MarginPercent: "99.99",
		},
		Totals: &governance.VoteTotals{Votes: new(governance.Decimal("3")), UniqueVoters: new(governance.Decimal("3")), VotingPower: "40000000.000000000000000001"},
		Quorum: &governance.Quorum{Raw: "40000000", Progress: "1", Reached: new(true), Type: governance.QuorumOfApproval},
		Choices: []governance.ChoiceTotal{
			{Key: "1", Label: "For", Votes: new(governance.Decimal("2")), VotingPower: "39999999.999999999999999999"},
			{Key: "2", Label: "Against", Votes: new(governance.Decimal("1")), VotingPower: "0.000000000000000002"},
		},
		CoverageStatus: governance.Complete,
	}
}

func countedEvidence() governance.Evidence {
	title, source, version := "Deploy \"v4\"", "https://snapshot.example/#/uniswap/proposal/0x8b8f?a=1&b=2", "3"
	return governance.Evidence{
		Proposal: governance.EvidenceProposal{ProposalKey: countedKey, Title: &title, SourceURL: &source},
		Provenance: []governance.Provenance{
			{Field: "title", Source: "uniswap/proposals/0x8b8f", Origin: new("eip155:1 block 19000000 0x6b27"), Provider: governance.Snapshot, ObservedAt: *ago(60)},
			{Field: "ballots", Source: "uniswap/proposals/0x8b8f/votes", Provider: governance.Snapshot, ObservedAt: *ago(5)},
		},
		Intelligence: governance.Intelligence{
			Status: governance.IntelligenceAvailable, ArtifactVersion: &version, GeneratedAt: ago(30),
			Dossier:    json.RawMessage(`{"total":1234567890.123456789012345678,"ratio":1.10e2,"text":"<a> & b"}`),
			SourceRefs: json.RawMessage(`[{"url":"https://forum.example/t/17"}]`),
			Warnings:   json.RawMessage(`["Two currencies."]`),
		},
		QualityFlags: []governance.QualityFlag{rules.BallotsPartial, rules.PowerRounded},
		Warnings: []governance.Warning{
			rules.NewWarning(rules.VotesDiffer, map[string]string{"upstream": "50", "held": "3"}),
		},
		Corrections: []governance.Correction{
			{Field: "totals.votes", From: "2", To: new("3"), At: *ago(5), Reason: governance.LateBallots},
			{Field: "result.choiceKey", From: "1", At: *ago(5), Reason: governance.UpstreamRecount},
		},
	}
}

func uncountedEvidence() governance.Evidence {
	return governance.Evidence{
		Proposal:   governance.EvidenceProposal{ProposalKey: uncountedKey},
		Provenance: []governance.Provenance{}, Intelligence: governance.NoIntelligence(),
		QualityFlags: []governance.QualityFlag{}, Warnings: []governance.Warning{},
	}
}

func talkDetail() governance.ForumTopicDetail {
	title, text, author, category, people := "Deploy \"v4\"", "First <line>\nsecond & 民主", "ana", "Proposals", governance.Decimal("2")
	return governance.ForumTopicDetail{
		ForumTopic: governance.ForumTopic{
			TopicKey: talkKey, Identity: governance.Identity{DAOID: "uniswap", Provider: governance.Discourse, ExternalID: "17"},
			Title: "Should we deploy?", Summary: &text, URL: "https://gov.uniswap.example/t/should-we/17", Author: &author, Category: &category,
			Tags: []string{"rfc"}, RelevanceScore: 85, Replies: "2", Posts: "3", Likes: "0", Views: "1234567", CreatedAt: ago(3600), UpdatedAt: ago(60),
		},
		BodyText: &text, Participants: &people, LastPostAt: ago(60),
		RelatedProposals: []governance.RelatedProposal{{ProposalKey: countedKey, Title: &title}, {ProposalKey: uncountedKey}},
	}
}

func uncountedDetail() governance.ProposalDetail {
	return governance.ProposalDetail{
		ProposalKey:     uncountedKey,
		Identity:        governance.Identity{DAOID: "ens.eth", Provider: governance.Tally, ExternalID: "7"},
		LifecycleStatus: governance.Pending, Outcome: governance.Unknown, Choices: []governance.Choice{},
	}
}

func uncountedSummary() governance.VoteSummary {
	return governance.VoteSummary{
		Proposal: governance.SummaryProposal{ProposalKey: uncountedKey, Outcome: governance.Unknown},
		Held:     governance.HeldTotals{Votes: "0", VotingPower: "0"},
		Choices:  []governance.ChoiceTotal{}, CoverageStatus: governance.CoverageUnavailable,
	}
}
