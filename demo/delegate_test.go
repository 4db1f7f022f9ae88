package demo_test

import (
	"bytes"
	"testing"

	"pnyx/test/env"
)

func TestEachTokenHasDelegates(t *testing.T) {
	t.Parallel()
	dir, _ := write(t, small())
	delegations, powers, names := map[string]int{}, map[string]int{}, map[string]int{}
	for _, line := range lines(t, dir, "delegations.ndjson.gz") {
		row := decode[struct {
			Record, Token, Delegator, Delegate, VotingPower, Supply, At, Voter, Name, Source string
			Version, Block, LogIndex                                                         int
		}](t, line)
		if row.Record == "name" {
			names[row.Name]++
			continue
		}
		if bytes.Contains(line, []byte(`"delegation"`)) {
			delegations[row.Token]++
		} else {
			powers[row.Token]++
		}
	}
	for _, dao := range read(t, dir).daos {
		for _, token := range dao.Tokens {
			if delegations[token] < 100 || powers[token] != delegations[token]+1 {
				t.Errorf("%s: got %d delegations and %d powers, want one each and a supply", dao.DAOID, delegations[token], powers[token])
			}
			delete(delegations, token)
		}
	}
	if len(names) < 5 {
		t.Errorf("got names %v, want some", names)
	}
	env.Want(t, 0, len(delegations), "delegations of tokens of no DAO", delegations)
}
