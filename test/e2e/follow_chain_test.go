package e2e_test

import (
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/test/env"
)

// followedLab is a chain lab whose Governors belong to the DAO harbor, and a pnyx that
// follows it.
type followedLab struct {
	*instance

	lab *env.ChainLab
}

// followLab starts a lab, and a pnyx that follows it from nothing.
func followLab(t *testing.T) *followedLab {
	t.Helper()
	lab := env.StartChainLab(t)
	env.RequireEngine(t)
	var ids []string
	for _, g := range lab.Expected() {
		ids = append(ids, "'"+strings.ToLower("eip155:31337:"+g.Address)+"'")
	}
	file := filepath.Join(t.TempDir(), "sources.yaml")
	text := fmt.Sprintf("contact: test@example.org\nchains: {'eip155:31337': {rpc: ['%s'], requestsPerMinute: 6000, pollInterval: 1s}}\n"+
		"daos:\n- {id: harbor, name: Harbor, governors: [%s]}\n", lab.URL, strings.Join(ids, ", "))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return &followedLab{startShared(t, []string{"PNYX_SOURCES=" + file}, "serve").ready(), lab}
}

// key is the key of a proposal of the lab.
func (*followedLab) key(g env.LabGovernor, id string) string {
	external := strings.ToLower("eip155:31337:"+g.Address) + "/" + id
	return string((governance.Identity{DAOID: "harbor", Provider: governance.Governor, ExternalID: external}).ProposalKey())
}

// difference reports the differences between the API and the lab.
func (f *followedLab) difference() error {
	rows, err := f.Walk("/v2/proposals?daoId=harbor", 100)
	if err != nil {
		return err
	}
	expected := 0
	var wrong error
	for _, g := range f.lab.Expected() {
		for _, p := range g.Proposals {
			expected++
			if err := f.sumsDiffer(g, p); err != nil {
				wrong = errors.Join(wrong, fmt.Errorf("%s proposal %s: %w", g.Name, p.ID, err))
			}
		}
	}
	if len(rows) != expected {
		wrong = errors.Join(wrong, fmt.Errorf("got %d proposals, want %d", len(rows), expected))
	}
	return wrong
}

// sumsDiffer compares the sums of votes on a proposal.
func (f *followedLab) sumsDiffer(g env.LabGovernor, want env.LabProposal) error {
	var got governance.VoteSummary
	if _, err := f.Read("/v2/proposals/"+f.key(g, want.ID)+"/votes/summary", &got); err != nil {
		return err
	}
	if got.Totals == nil || string(*got.Totals.Votes) != fmt.Sprint(want.Voters) {
		return fmt.Errorf("got totals %+v, want %d votes", got.Totals, want.Voters)
	}
	if want.Quorum != "" && (got.Quorum == nil || got.Quorum.Raw != want.Quorum) {
		return fmt.Errorf("got quorum %+v, want %s", got.Quorum, want.Quorum)
	}
	for _, choice := range got.Choices {
		units, _ := new(big.Int).SetString(want.Tally[choice.Key], 10)
		if power := decimal.NewFromBigInt(units, -int32(g.Decimals)); choice.VotingPower != governance.DecimalOf(power) {
			return fmt.Errorf("got power %s %s, want %s", choice.VotingPower, choice.Key, power)
		}
	}
	return nil
}

func TestSourcesAChainIsFollowedToTheLastDigitAndThroughReorganizations(t *testing.T) {
	t.Parallel()
	env.Sources(t)

	f := followLab(t)
	env.Until(t, f.difference)
	for _, step := range []string{"prepare", "apply", "shrink"} {
		f.lab.Script("reorg", step)
		env.Until(t, f.difference)
	}
}
