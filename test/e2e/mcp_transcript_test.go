package e2e_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pnyx/access"
	"pnyx/test/env"
)

var updateTranscripts = flag.Bool("update", false, "write the transcripts of docs/examples instead of comparing them")

// transcript is what an agent reads to answer a question, and the answer. What differs from run to run is "…".
type transcript struct {
	Question string         `json:"question"`
	Calls    []answeredCall `json:"calls"`
	Answer   []citedClaim   `json:"answer"`

	// bytes are those of all results.
	bytes int
}

// answeredCall is a call of a tool with its result.
type answeredCall struct {
	Tool      string         `json:"tool"`
	Arguments map[string]any `json:"arguments"`
	Result    any            `json:"result"`
}

// citedClaim is a sentence. It rests on references of a result, or on whole results, as calls/0.
type citedClaim struct {
	Claim string   `json:"claim"`
	Cites []string `json:"cites"`
}

// agent asks tools with the official client.
type agent struct {
	*instance
	session *sdk.ClientSession
}

// ask calls a tool, adds the call to a transcript, and decodes the data of the result.
func (a *agent) ask(to *transcript, tool string, arguments map[string]any, data any) {
	a.TB.Helper()
	got, err := a.session.CallTool(a.TB.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil || got.IsError || len(got.Content) != 1 {
		a.TB.Fatalf("call %s %v: %v, %+v", tool, arguments, err, got)
	}
	content, is := got.Content[0].(*sdk.TextContent)
	if !is {
		a.TB.Fatalf("call %s: got %T, want a text", tool, got.Content[0])
	}
	var result struct{ Data any }
	if err := errors.Join(json.Unmarshal([]byte(content.Text), &result), json.Unmarshal([]byte(content.Text), &struct{ Data any }{data})); err != nil {
		a.TB.Fatalf("call %s: %v", tool, err)
	}
	to.Calls, to.bytes = append(to.Calls, answeredCall{tool, arguments, env.Plain(result.Data)}), to.bytes+len(content.Text)
}

// volatileMember is what differs between two imports of the same files.
var volatileMember = regexp.MustCompile(`"(artifactVersion|generatedAt|observedAt|sha256)": "[^"]+"`)

// check holds a transcript against bounds, and against its file in the documents.
func (a *agent) check(to *transcript, name string, calls int) {
	a.TB.Helper()
	a.TB.Logf("%s: %d calls, %d bytes", name, len(to.Calls), to.bytes)
	if tokens := to.bytes / 4; len(to.Calls) > calls || tokens > 6000 {
		a.TB.Errorf("%s: got %d calls and %d tokens, want at most %d and 6000", name, len(to.Calls), tokens, calls)
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	env.MustDo(a.TB, encoder.Encode(to))
	got := volatileMember.ReplaceAll(text.Bytes(), []byte(`"$1": "…"`))
	path := filepath.Join(env.Root(a.TB), "docs/examples", name+".json")
	if *updateTranscripts {
		env.MustDo(a.TB, os.WriteFile(path, got, 0o600))
		return
	}
	if stored, err := os.ReadFile(path); err != nil || !bytes.Equal(stored, got) {
		a.TB.Errorf("%s is not what an agent reads (%v): go test ./test/e2e -run TestAgents -update; got\n%s", path, err, got)
	}
}

// withToken sends requests with a token.
type withToken string

// RoundTrip sends a request.
func (token withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(access.HeaderToken, string(token))
	return http.DefaultTransport.RoundTrip(r) //nolint:wrapcheck // nothing to add
}

// TestLongAgentsAnswerWithFewCalls lets the official client read what two questions need.
func TestLongAgentsAnswerWithFewCalls(t *testing.T) {
	t.Parallel()
	i := startShared(t, anyNumber, "serve").ready()
	i.Import(env.GeneratedDataSet(t))
	i.AwaitPublished()
	session := env.Must(sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, nil).Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint: i.URL + "/mcp", HTTPClient: &http.Client{Transport: withToken(i.clientToken())},
	}, nil))(t)
	t.Cleanup(func() { session.Close() })
	a := &agent{i, session}
	t.Run("is it safe to vote for", func(*testing.T) { a.isSafe("p1_G0BzYmMtJq3kHY1hAbgRIw") })
	t.Run("who decided", func(*testing.T) { a.whoDecided("alderfold") })
}

// isSafe asks whether a proposal is safe to vote for: its dossier has the findings and what is not known.
func (a *agent) isSafe(key string) {
	a.TB.Helper()
	env.Until(a.TB, func() error { // until the dossier is computed
		var data struct{ Intelligence struct{ Status string } }
		_, err := a.Read("/v2/proposals/"+key+"/evidence", &data)
		if data.Intelligence.Status != "available" {
			err = errors.Join(err, fmt.Errorf("intelligence is %q", data.Intelligence.Status))
		}
		return err
	})
	to := &transcript{Question: "Is this proposal safe to vote for? " + key}
	var read struct {
		Evidence struct {
			Intelligence struct {
				Dossier struct {
					Summary  string
					Findings []struct {
						Severity, Sentence string
						Refs               []string
					}
					HighestSeverity string
					Actions         []any
					Unknowns        []struct{ What, Where string }
				}
				SourceRefs []struct{ ID string }
			}
		}
	}
	a.ask(to, "get_proposal", map[string]any{"proposalKey": key, "include": []string{"text", "votes", "evidence"}, "textLimit": 2000}, &read)
	dossier, there := read.Evidence.Intelligence.Dossier, map[string]bool{}
	for _, ref := range read.Evidence.Intelligence.SourceRefs {
		there[ref.ID] = true
	}
	to.Answer = []citedClaim{{dossier.Summary, []string{"actions", "votes", "proposal"}}}
	for _, f := range dossier.Findings {
		to.Answer = append(to.Answer, citedClaim{"Severity " + f.Severity + ": " + f.Sentence, f.Refs})
	}
	for _, u := range dossier.Unknowns {
		to.Answer = append(to.Answer, citedClaim{"Not known is " + u.What + "; see " + u.Where + ".", []string{"calls/0"}})
	}
	to.Answer = append(to.Answer, citedClaim{"Not as it stands: the highest severity is " + dossier.HighestSeverity + ".", []string{"calls/0"}})
	if len(dossier.Findings) < 2 || dossier.HighestSeverity != "high" || len(dossier.Actions) == 0 {
		a.TB.Errorf("got %+v, want findings of high severity with the actions that they name", dossier)
	}
	for _, claim := range to.Answer {
		if len(claim.Cites) == 0 || slices.ContainsFunc(claim.Cites, func(ref string) bool { return !there[ref] && ref != "calls/0" }) {
			a.TB.Errorf("%q cites %v, of which the answer has %v", claim.Claim, claim.Cites, there)
		}
	}
	a.check(to, "safe_to_vote", 4)
}

// voter is a voter with a name, or without.
type voter struct {
	VoterIdentity, VotingPower, Delegators string
	VoterName                              *struct{ Name, Source string }
	Choice                                 struct{ Label string }
}

// String names the voter with the source of the name.
func (v voter) String() string {
	if v.VoterName == nil {
		return v.VoterIdentity
	}
	return fmt.Sprintf("%s (%s, as %s names it)", v.VoterName.Name, v.VoterIdentity, v.VoterName.Source)
}

// whoDecided asks who decided the last five votes of a DAO, and for whom they speak.
func (a *agent) whoDecided(daoID string) {
	a.TB.Helper()
	to := &transcript{Question: "Who decided the last five votes of " + daoID + ", and for whom do they speak?"}
	var votes []struct{ ProposalKey, Title string }
	a.ask(to, "find_proposals", map[string]any{"daoId": daoID, "lifecycleStatus": []string{"closed"}, "limit": 5}, &votes)
	named := 0
	claim := func(format string, parts ...any) {
		to.Answer = append(to.Answer, citedClaim{fmt.Sprintf(format, parts...), []string{fmt.Sprintf("calls/%d", len(to.Calls)-1)}})
	}
	for _, vote := range votes {
		var ballots []voter
		a.ask(to, "list_ballots", map[string]any{"proposalKey": vote.ProposalKey, "limit": 2}, &ballots)
		for _, b := range ballots {
			if claim("%s: %s voted %s with %s.", vote.Title, b, b.Choice.Label, b.VotingPower); b.VoterName != nil {
				named++
			}
		}
	}
	var delegates []voter
	a.ask(to, "list_delegates", map[string]any{"daoId": daoID, "limit": 5}, &delegates)
	for _, d := range delegates {
		claim("%s speaks for %s delegators with %s.", d, d.Delegators, d.VotingPower)
	}
	if len(votes) != 5 || len(delegates) == 0 || named == 0 {
		a.TB.Errorf("got %d votes, %d delegates and %d named ballots", len(votes), len(delegates), named)
	}
	a.check(to, "who_decided", 7)
}
