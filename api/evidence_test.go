package api_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pnyx/governance"
)

func TestAnalysisKeepsEveryDigit(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	// The second answer is the node's own copy.
	for range 2 {
		got := n.get(evidencePath(countedKey)).body
		want := `"dossier":{"total":1234567890.123456789012345678,"ratio":1.10e2,"text":"<a> & b"}`
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want %s in it", got, want)
		}
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
	if err := json.Unmarshal(n.wantSuccess(detail.Related.Evidence).Data, &evidence); err != nil {
		t.Fatal(err)
	}
	if evidence.Proposal.ProposalKey != countedKey {
		t.Errorf("got evidence on %s, want on %s", evidence.Proposal.ProposalKey, countedKey)
	}
}
