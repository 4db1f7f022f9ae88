// Command oapi reads a page of each list with the client that oapi-codegen makes from the OpenAPI document, and
// prints how many rows it got: go run . BASE TOKEN.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"

	"pnyx-oapi/build"
)

// window is how far back events and signals are read.
const window = 89 * 24 * time.Hour

func main() {
	counts := read(context.Background(), os.Args[1], os.Args[2])
	if err := json.NewEncoder(os.Stdout).Encode(counts); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// answer is what every generated answer is.
type answer interface {
	StatusCode() int
	GetJSONDefault() *build.Error
}

// must returns an answer with data, and ends the program otherwise.
func must[A answer](a A, err error) A {
	if err != nil {
		fail(err)
	}
	if failed := a.GetJSONDefault(); failed != nil {
		fail(fmt.Errorf("%d %s: %s (%s)", a.StatusCode(), failed.Error.Code, failed.Error.Message, failed.Meta.RequestId))
	}
	return a
}

func read(ctx context.Context, base, token string) map[string]int {
	client, err := build.NewClientWithResponses(base, build.WithRequestEditorFn(func(_ context.Context, request *http.Request) error {
		request.Header.Set("x-service-api-token", token)
		return nil
	}))
	if err != nil {
		fail(err)
	}
	daos := must(client.DaosListWithResponse(ctx, &build.DaosListParams{HasVoteData: new(true)}))
	daoID := daos.JSON200.Data[0].DaoId
	proposals := must(client.ProposalsListWithResponse(ctx, &build.ProposalsListParams{DaoId: &daoID, LifecycleStatus: &[]build.Lifecycle{build.LifecycleClosed, build.LifecycleActive}}))
	ballots := must(client.ProposalsVotesWithResponse(ctx, proposals.JSON200.Data[0].ProposalKey, nil))
	voters := must(client.DaosVotersWithResponse(ctx, daoID, nil))
	history := must(client.VotersVotesWithResponse(ctx, voters.JSON200.Data[0].VoterIdentity, nil))
	topics := must(client.ForumTopicsListWithResponse(ctx, nil))
	now := time.Now().UTC()
	from, to := now.Add(-window).Format(time.RFC3339), now.Format(time.RFC3339)
	events := must(client.EventsListWithResponse(ctx, &build.EventsListParams{From: from, To: to}))
	signals := must(client.SignalsListWithResponse(ctx, &build.SignalsListParams{From: from, To: to}))
	if len(signals.JSON200.Data) > 0 {
		// Evidence is an object, and the type of a signal the type of its parameter.
		var _ map[string]any = signals.JSON200.Data[0].Evidence
		var _ []build.SignalType = []build.SignalType{signals.JSON200.Data[0].SignalType}
	}
	return map[string]int{
		"daos": len(daos.JSON200.Data), "proposals": len(proposals.JSON200.Data), "ballots": len(ballots.JSON200.Data),
		"voters": len(voters.JSON200.Data), "history": len(history.JSON200.Data), "topics": len(topics.JSON200.Data),
		"events": len(events.JSON200.Data), "signals": len(signals.JSON200.Data),
	}
}
