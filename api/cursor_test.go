package api_test

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"pnyx/api"
	"pnyx/api/param"
	"pnyx/governance/query"
)

// ballotCursors are the cursors of the votes on one proposal.
func ballotCursors() api.Cursors {
	return api.NewCursors(cursorKey, "proposals.votes",
		api.Given{Name: "proposalKey", Kind: param.ProposalKey, Value: string(countedKey)},
		api.Given{Name: "order", Kind: param.Enum, Value: "power"})
}

func TestAttackCursorTellsNothingOfTheLastRow(t *testing.T) {
	t.Parallel()
	position := query.BallotPosition{Power: "1234567.890123456789012345", Voter: "0x00000000000000000000000000000000000000aa"}
	cursors := ballotCursors()
	cursor := cursors.Seal(position)
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{string(position.Power[:7]), string(position.Power), position.Voter[:12], position.Voter, "Power", "Voter"} {
		if bytes.Contains(text, []byte(part)) || strings.Contains(cursor, part) {
			t.Errorf("the cursor %q contains %q", text, part)
		}
	}
	// Neither does its length, for rows of everyday sizes.
	position.Power = "9"
	if short := cursors.Seal(position); len(short) != len(cursor) {
		t.Errorf("got %d characters after 9, %d after 1234567.890123456789012345, want as many", len(short), len(cursor))
	}
}

func TestSamePositionHasTheSameCursorOnEveryNode(t *testing.T) {
	t.Parallel()
	position := query.BallotPosition{Power: "12.5", Voter: "0xaa"}
	first, second := ballotCursors().Seal(position), ballotCursors().Seal(position)
	if first != second {
		t.Errorf("got %s and %s, want one cursor", first, second)
	}
	position.Power = "12.4"
	if other := ballotCursors().Seal(position); other == first || other[:16] == first[:16] {
		t.Errorf("another position: got %s beside %s, want nothing in common", other, first)
	}
}

func TestAttackHeadIsMeteredLikeGet(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	token := n.admitsTwiceAMonth()
	for left := 1; left >= 0; left-- {
		got := n.askWith(http.MethodHead, detailPath, token)
		if limits := got.header.Get("RateLimit"); got.status != http.StatusOK || !strings.Contains(limits, `"month";r=`+string(rune('0'+left))+";") {
			t.Fatalf("got %d %q, want 200 and %d left of the month", got.status, limits, left)
		}
	}
	for _, method := range []string{http.MethodHead, http.MethodGet} {
		if got := n.askWith(method, detailPath, token); got.status != http.StatusTooManyRequests {
			t.Errorf("%s after the month is used up: got %d, want 429", method, got.status)
		}
	}
}
