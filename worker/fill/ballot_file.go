package fill

import (
	"fmt"
	"io"
	"slices"

	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/warehouse/pages"
)

func writeBallots(w io.Writer, format governance.ExportFormat, rows []pages.LatestBallot, choices voteChoices) error {
	to := newRowWriter[governance.ExportedBallot](w, format)
	if format == governance.ExportCSV {
		// The order that the columns have had from the beginning.
		to = csvRows[governance.ExportedBallot](w, "voteId", "voterIdentity", "voterAddress", "choiceKey", "choice.label",
			"votingPower", "votedAt", "transactionHash", "reason", "invalid")
	}
	for chunk := range slices.Chunk(rows, query.LongPage) { // labels of all rows may be large
		for _, ballot := range ballotRows(chunk, choices) {
			if err := to.write(ballot.ExportedBallot); err != nil {
				return fmt.Errorf("write a ballot: %w", err)
			}
		}
	}
	if err := to.flush(); err != nil {
		return fmt.Errorf("write ballots: %w", err)
	}
	return nil
}
