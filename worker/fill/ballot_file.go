package fill

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"

	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/warehouse"
)

// writeBallots writes ballots in a format.
func writeBallots(
	w io.Writer, format query.ExportFormat, rows []warehouse.LatestBallot, choices voteChoices,
) error {
	to := newRowWriter[governance.ExportedBallot](w, format)
	if format == query.ExportCSV {
		to = ballotRecords(w)
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

// ballotRecords writes the records of RFC 4180, after one with the names of the fields.
func ballotRecords(w io.Writer) rowWriter[governance.ExportedBallot] {
	records := csv.NewWriter(w)
	records.UseCRLF = true
	named := false
	write := func(b governance.ExportedBallot) error {
		if !named {
			named = true
			if err := records.Write(ballotFields()); err != nil {
				return err
			}
		}
		var votedAt string
		if b.VotedAt != nil {
			votedAt = b.VotedAt.String()
		}
		fields := []string{
			b.VoteID, b.VoterIdentity, textOrEmpty(b.VoterAddress), textOrEmpty(b.ChoiceKey), b.Choice.Label,
			string(b.VotingPower), votedAt, textOrEmpty(b.TransactionHash), textOrEmpty(b.Reason), strconv.FormatBool(b.Invalid),
		}
		for i, field := range fields {
			fields[i] = plainCell(field)
		}
		return records.Write(fields)
	}
	return rowWriter[governance.ExportedBallot]{write, func() error { records.Flush(); return records.Error() }}
}

// ballotFields are the names of the fields of a record: the members of a ballot.
func ballotFields() []string {
	return []string{
		"voteId", "voterIdentity", "voterAddress", "choiceKey", "choice.label", "votingPower", "votedAt", "transactionHash", "reason", "invalid",
	}
}

func textOrEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
