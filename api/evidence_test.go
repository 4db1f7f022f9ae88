package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pnyx/api/routes"
	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
)

// analysis is part of a dossier. It has a number of many digits.
const analysis = `"dossier":{"total":1234567890.123456789012345678,"ratio":1.10e2,"text":"<a> & b"}`

// analyze lets dossiers have the analysis.
func (t *node) analyze() {
	view, err := cache.NewView(cache.View{Revision: 1, DataAsOf: dataAsOf, Readiness: governance.Ready}, governance.Intelligence{
		Status: governance.IntelligenceAvailable, Dossier: json.RawMessage(`{"analyses":[{` + analysis + `}]}`),
		SourceRefs: json.RawMessage("[]"), Warnings: json.RawMessage("[]"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.fillPages(view)
}

// evidence returns an answer with a dossier, which a busy machine makes later than a caller waits.
func (t *node) evidence() (got answer) {
	t.Helper()
	env.Until(t, func() error {
		if got = t.get(evidencePath(countedKey)); strings.Contains(got.body, `"status":"pending"`) {
			return fmt.Errorf("got %s, want a dossier", got.body)
		}
		return nil
	})
	return got
}

func TestAnalysisKeepsEveryDigit(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.analyze()
	// The second answer is the node's own copy.
	for range 2 {
		got := n.evidence().body
		want := `"analyses":[{` + analysis + `}]`
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want %s in it", got, want)
		}
	}
}

// A worker that begins later than the caller waits makes the dossier for the next caller.
func TestADossierIsMadeAfterItsCallerHasLeft(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	pending := n.get(evidencePath(countedKey))
	if !strings.Contains(pending.body, `"status":"pending"`) {
		t.Fatalf("got %s, want pending", pending.body)
	}
	fills, err := n.store.DequeueFills(t.Context(), routes.PageKinds(), cache.Newest, func(query.Kind) int { return 1 }, time.Second)
	if err != nil || !fills[0].Kept || time.Now().After(fills[0].Deadline.Time()) {
		t.Fatalf("got %+v, %v, want a request that is kept", fills, err)
	}
	other := newNode(t)
	other.analyze()
	if made := other.evidence(); made.header.Get("ETag") == pending.header.Get("ETag") {
		t.Errorf("got the ETag %s for both answers", pending.header.Get("ETag"))
	}
}

func TestProposalDetailLinksToItsEvidence(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	var detail governance.ProposalDetail
	n.decode(string(n.wantSuccess("/v2/proposals/"+string(countedKey)).Data), &detail)
	var evidence struct {
		Proposal governance.EvidenceProposal
	}
	env.Decode(t, n.wantSuccess(detail.Related.Evidence).Data, &evidence)
	if evidence.Proposal.ProposalKey != countedKey {
		t.Errorf("got evidence on %s, want on %s", evidence.Proposal.ProposalKey, countedKey)
	}
}
