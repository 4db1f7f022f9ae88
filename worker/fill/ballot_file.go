package fill

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/warehouse"
)

// compressBallots makes the file of a part. The text as a whole is never in memory.
func compressBallots(
	format query.ExportFormat, rows []warehouse.LatestBallot, choices voteChoices,
) (cache.File, error) {
	var compressed bytes.Buffer
	zip, digest := gzip.NewWriter(&compressed), sha256.New()
	text := &countingWriter{to: io.MultiWriter(zip, digest)}
	if err := writeBallots(text, format, rows, choices); err != nil {
		return cache.File{}, err
	}
	if err := zip.Close(); err != nil {
		return cache.File{}, fmt.Errorf("compress ballots: %w", err)
	}
	sum := sha256.Sum256(compressed.Bytes())
	return cache.File{Gzip: compressed.Bytes(), Size: text.written, Digest: digest.Sum(nil), GzipDigest: sum[:]}, nil
}

type countingWriter struct {
	to      io.Writer
	written int
}

// Write implements io.Writer.
func (w *countingWriter) Write(text []byte) (int, error) {
	n, err := w.to.Write(text)
	w.written += n
	return n, err
}

// writeBallots writes ballots in a format.
func writeBallots(
	w io.Writer, format query.ExportFormat, rows []warehouse.LatestBallot, choices voteChoices,
) error {
	write, flush := ballotLines(w)
	if format == query.ExportCSV {
		write, flush = ballotRecords(w)
	}
	for chunk := range slices.Chunk(rows, query.LongPage) { // labels of all rows may be large
		for _, ballot := range ballotRows(chunk, choices) {
			if err := write(ballot); err != nil {
				return fmt.Errorf("write a ballot: %w", err)
			}
		}
	}
	if err := flush(); err != nil {
		return fmt.Errorf("write ballots: %w", err)
	}
	return nil
}

// exportedBallot is a ballot as the list of ballots has it, without the name of the voter: an export has
// what was voted, and does not change with names.
type exportedBallot struct {
	governance.Ballot

	VoterName *struct{} `json:"voterName,omitempty"`
}

// ballotLines writes each ballot, followed by a line feed.
func ballotLines(w io.Writer) (write func(governance.Ballot) error, flush func() error) {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return func(b governance.Ballot) error { return encoder.Encode(exportedBallot{Ballot: b}) }, func() error { return nil }
}

// ballotRecords writes the records of RFC 4180, after one with the names of the fields.
func ballotRecords(w io.Writer) (write func(governance.Ballot) error, flush func() error) {
	records := csv.NewWriter(w)
	records.UseCRLF = true
	named := false
	write = func(b governance.Ballot) error {
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
	return write, func() error { records.Flush(); return records.Error() }
}

// ballotFields are the names of the fields of a record: the members of a ballot.
func ballotFields() []string {
	return []string{
		"voteId", "voterIdentity", "voterAddress", "choiceKey", "choice.label", "votingPower", "votedAt", "transactionHash", "reason", "invalid",
	}
}

// plainCell returns a field that no spreadsheet takes for a formula: anyone may propose a
// choice that is called =HYPERLINK(…).
func plainCell(field string) string {
	if field != "" && strings.ContainsRune("=+-@\t\r", rune(field[0])) {
		return "'" + field
	}
	return field
}

func textOrEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
