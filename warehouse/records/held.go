package records

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// HeldProposal is what a follower compares with an upstream's list of proposals.
type HeldProposal struct {
	record.ProposalRef
	SourceID string
	// CreatedAt, UpdatedAt, StartAt and EndAt are as stated; nil where unknown.
	CreatedAt, UpdatedAt, StartAt, EndAt *governance.Timestamp
	// StatedVotes is the number of ballots that upstream states; nil for none.
	StatedVotes *uint64
	// StatedTotal is the sum of all scores that upstream states; nil for none.
	StatedTotal *decimal.Decimal
	// ScoresState says whether the scores are final, in upstream's words.
	ScoresState string
	// Flagged is true for spam, and Withdrawn for what upstream has deleted.
	Flagged, Withdrawn bool
	// Origin names what states the proposal.
	Origin string
}

// HeldProposals returns the latest version of the proposals of some sources of a provider, oldest
// first: those that end after a time, or all for the zero time. Withdrawn ones are among them.
func HeldProposals(
	ctx context.Context, w *warehouse.Warehouse, provider governance.Provider, sourceIDs []string, endsAfter time.Time,
) ([]HeldProposal, error) {
	return warehouse.Find[HeldProposal](ctx, w, "read the proposals held of followed sources", sqlText("held_proposal"),
		string(provider), sourceIDs, max(endsAfter.Unix(), 0))
}

// HeldSources returns the source of each proposal that is held, withdrawn ones included.
func HeldSources(ctx context.Context, w *warehouse.Warehouse, refs []record.RefHash) (map[record.RefHash]record.SourceRef, error) {
	if len(refs) == 0 {
		return map[record.RefHash]record.SourceRef{}, nil
	}
	operation := fmt.Sprintf("read the sources of %d proposals", len(refs))
	return warehouse.FindBy[record.RefHash, record.SourceRef](ctx, w, operation, sqlText("held_proposal_source"),
		warehouse.RefTable(refs))
}

// HeldBallots yields the ballots of a proposal that are not withdrawn, superseded ones included, in order of
// voter and id. It holds none of them in memory. An error of yield is returned.
func HeldBallots(
	ctx context.Context, w *warehouse.Warehouse, proposal record.ProposalRef, yield func(record.Ballot) error,
) error {
	return warehouse.EachRow(ctx, w, "read the ballots held of a proposal", sqlText("held_ballot"), func(b record.Ballot) error {
		b.Proposal = proposal
		return yield(b)
	}, warehouse.RefTable([]record.RefHash{proposal.Hash()}))
}

// HeldVoters counts the voters with a ballot that is not withdrawn, of the proposals that have any.
func HeldVoters(ctx context.Context, w *warehouse.Warehouse, refs []record.RefHash) (map[record.RefHash]uint64, error) {
	return warehouse.FindBy[record.RefHash, uint64](ctx, w,
		fmt.Sprintf("count the voters held of %d proposals", len(refs)),
		sqlText("held_ballot_voters"), warehouse.RefTable(refs))
}

// HeldTopics returns the records of a forum's topics as they were written last, also withdrawn ones, in order of
// their text. Unknown topics are left out, and the first posts unless whole records are asked for.
func HeldTopics(ctx context.Context, w *warehouse.Warehouse, host string, ids []string, whole bool) ([]record.Topic, error) {
	body := "''"
	if whole {
		body = "body_html"
	}
	return warehouse.Find[record.Topic](ctx, w, fmt.Sprintf("read the records of %d topics of %s", len(ids), host),
		fmt.Sprintf(sqlText("held_topic"), body), forumTopics(host, ids))
}

// VisibleTopics returns the numbers of a forum's topics, created since a time, that it showed when they were
// written last, except for some.
func VisibleTopics(ctx context.Context, w *warehouse.Warehouse, host string, since time.Time, except []string) ([]string, error) {
	return warehouse.Find[string](ctx, w, "list the visible topics of "+host, sqlText("held_topic_visible"),
		forumTopics(host, except), clickhouse.Named("host", host), clickhouse.Named("since", since.UnixMilli()))
}

func forumTopics(host string, ids []string) warehouse.Table {
	return TopicTable(warehouse.Values(ids, func(id string) TopicRef { return TopicRef{Host: host, ExternalID: id} }))
}
