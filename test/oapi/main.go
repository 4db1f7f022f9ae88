// Command oapi reads a page of each list with the client that oapi-codegen makes from the
// OpenAPI document, and prints how many rows it got: go run . BASE TOKEN. What it relies on
// has to stay in the document.
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
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// answer is what every generated answer is.
type answer interface {
	StatusCode() int
	GetJSONDefault() *build.Error
}

// check returns the error of an answer without data.
func check(a answer, err error) error {
	if err != nil {
		return err
	}
	if failed := a.GetJSONDefault(); failed != nil {
		return fmt.Errorf("%d %s: %s (%s)", a.StatusCode(), failed.Error.Code, failed.Error.Message, failed.Meta.RequestId)
	}
	return nil
}

func run(ctx context.Context, base, token string) error {
	client, err := build.NewClientWithResponses(base, build.WithRequestEditorFn(func(_ context.Context, request *http.Request) error {
		request.Header.Set("x-service-api-token", token)
		return nil
	}))
	if err != nil {
		return err
	}
	counts := map[string]int{}
	daos, err := client.DaosListWithResponse(ctx, &build.DaosListParams{HasVoteData: new(true)})
	if err := check(daos, err); err != nil {
		return err
	}
	counts["daos"] = len(daos.JSON200.Data)
	daoID := daos.JSON200.Data[0].DaoId
	proposals, err := client.ProposalsListWithResponse(ctx, &build.ProposalsListParams{DaoId: &daoID, LifecycleStatus: &[]build.Lifecycle{build.LifecycleClosed, build.LifecycleActive}})
	if err := check(proposals, err); err != nil {
		return err
	}
	counts["proposals"] = len(proposals.JSON200.Data)
	ballots, err := client.ProposalsVotesWithResponse(ctx, proposals.JSON200.Data[0].ProposalKey, nil)
	if err := check(ballots, err); err != nil {
		return err
	}
	counts["ballots"] = len(ballots.JSON200.Data)
	voters, err := client.DaosVotersWithResponse(ctx, daoID, nil)
	if err := check(voters, err); err != nil {
		return err
	}
	counts["voters"] = len(voters.JSON200.Data)
	history, err := client.VotersVotesWithResponse(ctx, voters.JSON200.Data[0].VoterIdentity, nil)
	if err := check(history, err); err != nil {
		return err
	}
	counts["history"] = len(history.JSON200.Data)
	topics, err := client.ForumTopicsListWithResponse(ctx, nil)
	if err := check(topics, err); err != nil {
		return err
	}
	counts["topics"] = len(topics.JSON200.Data)
	now := time.Now().UTC()
	from, to := now.Add(-window).Format(time.RFC3339), now.Format(time.RFC3339)
	events, err := client.EventsListWithResponse(ctx, &build.EventsListParams{From: from, To: to})
	if err := check(events, err); err != nil {
		return err
	}
	counts["events"] = len(events.JSON200.Data)
	signals, err := client.SignalsListWithResponse(ctx, &build.SignalsListParams{From: from, To: to})
	if err := check(signals, err); err != nil {
		return err
	}
	counts["signals"] = len(signals.JSON200.Data)
	if len(signals.JSON200.Data) > 0 {
		// Evidence is an object, and the type of a signal the type of its parameter.
		var _ map[string]any = signals.JSON200.Data[0].Evidence
		var _ []build.SignalType = []build.SignalType{signals.JSON200.Data[0].SignalType}
	}
	return json.NewEncoder(os.Stdout).Encode(counts)
}
