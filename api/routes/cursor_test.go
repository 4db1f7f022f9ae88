package routes_test

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"

	"pnyx/api/param"
	"pnyx/api/routes"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/check"
)

// ballotCursors are the cursors of the votes on one proposal.
func ballotCursors() routes.Cursors {
	return routes.NewCursors("sixteen bytes or more", "proposals.votes",
		routes.Given{Name: "proposalKey", Kind: param.ProposalKey, Value: "p1_AAAAAAAAAAAAAAAAAAAAAA"},
		routes.Given{Name: "order", Kind: param.Enum, Value: "power"})
}

func TestAttackCursorTellsNothingOfTheLastRow(t *testing.T) {
	t.Parallel()
	position := query.BallotPosition{Power: "1234567.890123456789012345", Voter: "0x00000000000000000000000000000000000000aa"}
	cursors := ballotCursors()
	cursor := cursors.Seal(position)
	text := check.Must(base64.RawURLEncoding.DecodeString(cursor))(t)
	for _, part := range []string{string(position.Power[:7]), string(position.Power), position.Voter[:12], position.Voter, "Power", "Voter"} {
		if bytes.Contains(text, []byte(part)) || strings.Contains(cursor, part) {
			t.Errorf("the cursor %q contains %q", text, part)
		}
	}
	// Neither does its length, for rows of everyday sizes.
	position.Power = "9"
	check.Want(t, len(cursor), len(cursors.Seal(position)), "characters of a cursor, however long its number")
}

func TestSamePositionHasTheSameCursorOnEveryNode(t *testing.T) {
	t.Parallel()
	position := query.BallotPosition{Power: "12.5", Voter: "0xaa"}
	first, second := ballotCursors().Seal(position), ballotCursors().Seal(position)
	check.Want(t, second, first, second, "one cursor")
	position.Power = "12.4"
	if other := ballotCursors().Seal(position); other == first || other[:16] == first[:16] {
		t.Errorf("another position: got %s beside %s, want nothing in common", other, first)
	}
}

func TestCursorsAreBoundToKeyRouteAndFilters(t *testing.T) {
	t.Parallel()
	type position struct {
		At governance.Timestamp
		ID string
	}
	want := position{1709210096007, "p1_x"}
	own := routes.NewCursors("key", "proposals.list",
		routes.Given{"daoId", param.Text, "a"}, routes.Given{"limit", param.Integer, "25"}, routes.Given{"cursor", param.Cursor, "x"})
	cursor := own.Seal(want)
	var got position
	if err := own.Open(cursor, &got); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	daoID := routes.Given{"daoId", param.Text, "a"}
	for name, other := range map[string]struct {
		key, route string
		filters    []routes.Given
		opens      bool
	}{
		"another size of page":       {"key", "proposals.list", []routes.Given{daoID, {"limit", param.Integer, "50"}}, true},
		"another key":                {"kez", "proposals.list", []routes.Given{daoID}, false},
		"another route":              {"key", "topics.list", []routes.Given{daoID}, false},
		"another filter":             {"key", "proposals.list", []routes.Given{{"daoId", param.Text, "b"}}, false},
		"no filter":                  {"key", "proposals.list", nil, false},
		"one filter more":            {"key", "proposals.list", []routes.Given{daoID, {"active", param.Boolean, "true"}}, false},
		"another name":               {"key", "proposals.list", []routes.Given{{"provider", param.Text, "a"}}, false},
		"another type":               {"key", "proposals.list", []routes.Given{{"daoId", param.EnumList, "a"}}, false},
		"a filter in another's tail": {"key", "proposals.list", []routes.Given{{"daoId", param.Text, "a\nprovider=b"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := routes.NewCursors(other.key, other.route, other.filters...).Open(cursor, new(position))
			if (err == nil) != other.opens {
				t.Errorf("got %v, want it opened: %t", err, other.opens)
			}
		})
	}
	// Two lists whose filters read alike when run together.
	joined := routes.NewCursors("key", "list", routes.Given{"a", param.Text, "x\nb=y"})
	apart := routes.NewCursors("key", "list", routes.Given{"a", param.Text, "x"}, routes.Given{"b", param.Text, "y"})
	if err := apart.Open(joined.Seal(want), &got); err == nil {
		t.Error("a text passes for two filters")
	}
	// A position of another shape.
	var number int
	if err := own.Open(own.Seal("text"), &number); err == nil {
		t.Error("a text passes for a number")
	}
}

func FuzzOpenCursor(f *testing.F) {
	cursors := routes.NewCursors("key", "daos.list", routes.Given{"hasVoteData", param.Boolean, "true"})
	f.Add(cursors.Seal("uniswap"))
	f.Add("")
	f.Add("AAAA")
	f.Fuzz(func(t *testing.T, cursor string) {
		var position string
		if err := cursors.Open(cursor, &position); err == nil && cursors.Seal(position) != cursor {
			t.Fatalf("%q opens as %q, whose cursor is %q", cursor, position, cursors.Seal(position))
		}
	})
}
