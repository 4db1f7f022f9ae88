// Command ballots counts the ballots of a proposal by choice: ballots URL TITLE.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"

	pnyx "pnyx/clients" // in a module of your own: the folder of pnyx.go
)

func main() {
	client := pnyx.New(os.Args[1], pnyx.WithToken(os.Getenv("PNYX_TOKEN")))
	ctx, counts := context.Background(), map[string]int{}
	found, err := client.ResolveProposal(ctx, &pnyx.ResolveProposalParams{Title: os.Args[2], Limit: 1})
	if err != nil {
		log.Fatal(err)
	}
	if len(found.Data.Candidates) == 0 {
		log.Fatal("no such proposal")
	}
	for ballot, err := range client.Ballots(ctx, found.Data.Candidates[0].ProposalKey, nil) {
		if err != nil {
			log.Fatal(err)
		}
		counts[ballot.Choice.Label]++
	}
	if err := json.NewEncoder(os.Stdout).Encode(counts); err != nil {
		log.Fatal(err)
	}
}
