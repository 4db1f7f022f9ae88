package client_test

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"pnyx/api/param"
	"pnyx/api/routes"
	"pnyx/reference/client"
	"pnyx/test/env"
)

// routeOf returns a route of the table.
func routeOf(t *testing.T, id string) routes.Route {
	t.Helper()
	for _, route := range routes.All() {
		if route.ID == id {
			return route
		}
	}
	t.Fatalf("no route %s", id)
	return routes.Route{}
}

func TestSnippetIsTheProgramOfItsLanguage(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, route string
		language    client.Language
		values      map[string]string
		want        string
	}{
		{"a list that is walked", "proposals.votes", client.TypeScript, map[string]string{"proposalKey": "p1_x", "order": "time"}, `import { Pnyx } from "./pnyx.ts";

const pnyx = new Pnyx("https://node.example", { token: process.env.PNYX_TOKEN });
for await (const ballot of pnyx.ballots("p1_x", { order: "time" })) {
  console.log(ballot);
}
`},
		{"parameters of every kind", "forum-topics.list", client.Python, map[string]string{"daoId": `a"b`, "governanceRelated": "true", "minReplies": "3", "updatedFrom": "2026-01-01"}, `import os

from pnyx import Pnyx

pnyx = Pnyx("https://node.example", token=os.environ["PNYX_TOKEN"])
for topic in pnyx.forum_topics(
    dao_id="a\"b",
    governance_related=True,
    updated_from="2026-01-01",
    min_replies=3,
):
    print(topic)
`},
		{"a free answer", "daos.detail", client.Python, map[string]string{"daoId": "ens"}, `from pnyx import Pnyx

pnyx = Pnyx("https://node.example")
print(pnyx.dao("ens").data)
`},
		{"a list of values", "events.list", client.Go, map[string]string{"from": "2026-01-01", "to": "2026-02-01", "eventType": "voting_ended,quorum_reached"}, `package main

import (
	"context"
	"encoding/json"
	"log"
	"os"

	"example.org/app/pnyx"
)

func main() {
	ctx, out := context.Background(), json.NewEncoder(os.Stdout)
	client := pnyx.New("https://node.example", pnyx.WithToken(os.Getenv("PNYX_TOKEN")))
	for event, err := range client.Events(ctx, &pnyx.EventsParams{
		From:      "2026-01-01",
		To:        "2026-02-01",
		EventType: []pnyx.EventType{"voting_ended", "quorum_reached"},
	}) {
		if err != nil {
			log.Fatal(err)
		}
		out.Encode(event)
	}
}
`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := client.Snippet(test.language, "https://node.example/", routeOf(t, test.route), test.values)
			if err != nil || got != test.want {
				t.Errorf("got %v\n%s\nwant\n%s", err, got, test.want)
			}
		})
	}
}

func TestSnippetGivesWhatARequestNeeds(t *testing.T) {
	t.Parallel()
	for _, route := range routes.All() {
		t.Run(route.ID, func(t *testing.T) {
			t.Parallel()
			for _, language := range client.Languages() {
				got := env.Must(client.Snippet(language, "", route, nil))(t)
				for _, one := range route.Params {
					literal := `"` + one.Example + `"`
					if one.Kind == param.Integer {
						literal = one.Example
					}
					if (one.In == param.InPath || one.Required) && !strings.Contains(got, literal) {
						t.Errorf("%s: got no %s:\n%s", language, one.Name, got)
					}
				}
				if language != client.Go {
					continue
				}
				if _, err := parser.ParseFile(token.NewFileSet(), "main.go", got, 0); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
