package hub_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"pnyx/clock"
	"pnyx/test/check"
	"pnyx/test/upstream/hub"
)

// start is the time at which the hub of a test begins.
var start = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// harbor returns a hub with a space, an open proposal there, and its clock.
func harbor(t *testing.T) (*hub.Hub, string, *clock.Clock) {
	t.Helper()
	now := clock.Stepping(start)
	h := hub.New(now)
	h.AddSpace(hub.Space{ID: "harbor.eth", Name: "Harbor", Network: "1", Symbol: "HRB"})
	id := h.Propose(hub.Proposal{
		Space: "harbor.eth", Title: "Renew", Choices: []string{"Yes", "No"}, Created: start.Add(-8 * 24 * time.Hour),
		Start: start.Add(-7 * 24 * time.Hour), End: start.Add(24 * time.Hour),
	})
	return h, id, now
}

// answer is what the hub answers.
type answer struct {
	status int
	body   string
	Data   map[string][]map[string]any `json:"data"`
	Errors []struct {
		Message string
		Path    []any
	} `json:"errors"`
}

func ask(t *testing.T, h http.Handler, query string) answer {
	t.Helper()
	body := check.Must(json.Marshal(map[string]any{"query": query}))(t)
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/graphql", bytes.NewReader(body))
	recorded := httptest.NewRecorder()
	h.ServeHTTP(recorded, request)
	got := answer{status: recorded.Code, body: recorded.Body.String()}
	_ = json.Unmarshal(recorded.Body.Bytes(), &got)
	return got
}

func cast(t *testing.T, h *hub.Hub, v hub.Vote) {
	t.Helper()
	if v.Choice == "" {
		v.Choice = "1"
	}
	if v.Power == "" {
		v.Power = "1"
	}
	check.Must(h.Cast(v))(t)
}

func TestErrorsAreThoseOfTheHub(t *testing.T) {
	t.Parallel()

	many := strings.Repeat(`"a",`, 101)
	for _, test := range []struct {
		name, query string
		status      int
		message     string
	}{
		{"first above 1000", `{votes(first:1001){id}}`, 500, "`first` argument must not be greater than 1000"},
		{"skip above 5000", `{votes(skip:5001){id}}`, 500, "`skip` argument must not be greater than 5000"},
		{"first below 0", `{votes(first:-1){id}}`, 500, "must be positive"},
		{"101 ids", `{votes(where:{id_in:[` + many + `]}){id}}`, 500, "`id_in` argument must not be greater than 100"},
		{"101 spaces of proposals", `{proposals(where:{space_in:[` + many + `]}){id}}`, 200, ""},
		{"a voter that is no address", `{votes(where:{voter:"bob"}){id}}`, 500, "Invalid addresses in voter"},
		{"users of whom one has no address", `{users(where:{id_in:["` + hub.Voter("ada") + `","bob"]}){id}}`, 500, "Invalid addresses in id"},
		{"a comparison of ids", `{users(where:{id_gt:"a"}){id}}`, 400, `"id_gt" is not defined`},
		{"users by name", `{users(where:{name:"Ada"}){id}}`, 400, `"name" is not defined`},
		{"a user without a profile, in any letter case", `{users(where:{id_in:["` + strings.ToLower(hub.Voter("ada")) + `"]}){id name}}`, 200, hub.Voter("ada")},
		{"an unknown field", `{votes{colour}}`, 400, `Cannot query field "colour"`},
		{"an unknown condition", `{votes(where:{colour:1}){id}}`, 400, `"colour" is not defined`},
		{"a direction in capitals", `{votes(orderDirection:ASC){id}}`, 400, `"ASC" does not exist`},
		{"no GraphQL", `{votes(`, 400, "Syntax Error"},
		{"six root fields", `{a:votes{id} b:votes{id} c:votes{id} d:votes{id} e:votes{id} f:votes{id}}`, 500, "maximum number of root selections: 5"},
		{"too deep", `{votes{proposal{space{id{id{id}}}}}}`, 400, "depth"},
		{"an unknown order", `{votes(orderBy:"colour"){id}}`, 200, ""},
		{"an empty list of ids", `{votes(where:{id_in:[]}){id}}`, 200, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h, _, _ := harbor(t)
			got := ask(t, h, test.query)
			if got.status != test.status || !strings.Contains(got.body, test.message) && !strings.Contains(got.Errors[0].Message, test.message) {
				t.Errorf("got %d %s, want %d with %q", got.status, got.body, test.status, test.message)
			}
		})
	}
}

func TestNumbersArePrintedAsJavaScriptDoes(t *testing.T) {
	t.Parallel()

	for stored, want := range map[string]string{
		"22.192644284923612345678901234567": "22.192644284923613", "0.0000001": "1e-7", "1000000000000000000000": "1e+21", "5": "5",
	} {
		t.Run(stored, func(t *testing.T) {
			t.Parallel()
			h, id, _ := harbor(t)
			cast(t, h, hub.Vote{Proposal: id, Voter: hub.Voter("ada"), Power: stored})
			check.WantPart(t, `"vp":`+want+`}`, ask(t, h, `{votes{vp}}`).body)
		})
	}
}

func TestTiesAreBrokenByID(t *testing.T) {
	t.Parallel()

	h, id, _ := harbor(t)
	check.MustDo(t, h.Burst(id, 5, start))
	at := start.Add(-8 * 24 * time.Hour)
	for range 4 {
		h.Propose(hub.Proposal{Space: "harbor.eth", Choices: []string{"Yes"}, Created: at, Start: start, End: start.Add(time.Hour)})
	}
	ids := func(query, list string) (ids []string) {
		for _, r := range ask(t, h, query).Data[list] {
			ids = append(ids, fmt.Sprint(r["id"]))
		}
		return ids
	}
	up, down := ids(`{votes(orderDirection:asc){id}}`, "votes"), ids(`{votes(orderDirection:desc){id}}`, "votes")
	if up[0] != down[4] || up[0] > up[1] {
		t.Errorf("votes: got %v upwards and %v downwards, want ties in the direction of the sort", up, down)
	}
	up, down = ids(`{proposals(orderDirection:asc){id}}`, "proposals"), ids(`{proposals(orderDirection:desc){id}}`, "proposals")
	if strings.Join(up, "") != strings.Join(down, "") {
		t.Errorf("proposals: got %v upwards and %v downwards, want ties by id alone", up, down)
	}
}

func TestLogIsNumberedByArrivalWithHoles(t *testing.T) {
	t.Parallel()

	h, id, now := harbor(t)
	h.Set(func(s *hub.Switches) { s.Burn, s.LogDelay = 3, 5*time.Second })
	before := h.MCI()
	cast(t, h, hub.Vote{Proposal: id, Voter: hub.Voter("ada"), Created: start.Add(-6 * 24 * time.Hour)})
	log := fmt.Sprintf(`{messages(where:{mci_gt:%d},orderBy:"mci",orderDirection:asc){mci type timestamp}}`, before)
	if got := ask(t, h, log); len(got.Data["messages"]) != 0 {
		t.Errorf("got %s, want a log that is written late", got.body)
	}
	now.Step(5 * time.Second)
	if got := ask(t, h, log); len(got.Data["messages"]) != 1 || got.Data["messages"][0]["mci"] != float64(before+4) {
		t.Errorf("got %s, want one message after burnt numbers", got.body)
	}
	h.Set(func(s *hub.Switches) { s.Burn, s.LogDelay = 0, 0 })
	cast(t, h, hub.Vote{Proposal: id, Voter: hub.Voter("bo")})
	h.SwapLast(30 * time.Second)
	cast(t, h, hub.Vote{Proposal: id, Voter: hub.Voter("cy")})
	numbers := func() (numbers []any) {
		for _, m := range ask(t, h, log).Data["messages"] {
			numbers = append(numbers, m["mci"])
		}
		return numbers
	}
	early := numbers()
	now.Step(30 * time.Second)
	if late := numbers(); len(early) != 2 || len(late) != 3 || late[2] != early[1] {
		t.Errorf("got %v, then %v, want a lower number that appears later", early, late)
	}
}
