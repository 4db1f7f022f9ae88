package feed

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/ext"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// ProposalSize is a proposal with its number of ballots, the measure of the work to derive its feed rows.
type ProposalSize struct {
	Ref   record.RefHash `ch:"proposal_ref"`
	Votes uint64
}

// Turnout is a vote, with the turnouts of the votes before it.
type Turnout struct {
	ProposalSize
	// EarlierVotes and EarlierPowers are the ballots, and their voting power, of up to ten
	// votes of the same source that ended before it began.
	EarlierVotes  []uint64
	EarlierPowers []decimal.Decimal
	// Context is a hash of both, as in FeedProgress.
	Context uint64
	// Revision is that of the vote's state.
	Revision uint64
}

// Turnouts returns the votes among refs by proposal, and the later ones: other votes of which the feed
// takes other turnouts for the usual ones than those there are, since one of refs came to them, left them,
// or has another turnout.
func (f Feed) Turnouts(ctx context.Context, refs []record.RefHash) (of map[record.RefHash]Turnout, later []ProposalSize, err error) {
	type row struct {
		Turnout
		Wanted bool
	}
	rows, err := warehouse.Find[row](ctx, f.w, "read turnouts", sqlText("feed_votes_turnouts"), warehouse.RefTable(refs))
	of = make(map[record.RefHash]Turnout, len(refs))
	for _, r := range rows {
		if r.Wanted {
			of[r.Ref] = r.Turnout
		} else {
			later = append(later, r.ProposalSize)
		}
	}
	return of, later, err
}

// Vote is a proposal whose ballots are read in order of time.
type Vote struct {
	Ref   record.RefHash
	EndAt governance.Timestamp
	// Quorum is the voting power that it needs; zero for none.
	Quorum decimal.Decimal
	// QuorumChoices are the choices that count towards the quorum; none stands for all.
	QuorumChoices []string
	// Choices are the choices that upstream states, Bounds say which of them a valid ballot names.
	Choices []governance.Choice
	Bounds  governance.ChoiceBounds
}

// InterimTally is what one choice had received some time before the end of voting.
type InterimTally struct {
	// Choice is the key of the choice; empty for ballots that support none.
	Choice string `ch:"supported"`
	// Votes and Powers have an entry for each window: the number and the power of the ballots before its beginning.
	Votes  []uint64
	Powers []decimal.Decimal
	// Largest is the power of the choice's largest ballot, LargestVoter the normalized identity of its voter.
	Largest      decimal.Decimal
	LargestVoter string
}

// InterimTallies returns the tallies of each vote by choice. Each window begins that long
// before the end of voting. A ballot without a time counts as the earliest.
func (f Feed) InterimTallies(
	ctx context.Context, votes []Vote, windows []time.Duration,
) (map[record.RefHash][]InterimTally, error) {
	if len(votes) == 0 {
		return map[record.RefHash][]InterimTally{}, nil
	}
	milliseconds := warehouse.Values(windows, time.Duration.Milliseconds)
	return warehouse.FindGroups[record.RefHash, InterimTally](ctx, f.w, "read interim tallies",
		fmt.Sprintf(sqlText("feed_votes_interim"), sqlText("feed_votes_invalid")), voteTable(votes),
		clickhouse.Named("windows", milliseconds))
}

// QuorumTime is when a vote reached its quorum.
type QuorumTime struct {
	// At is the time of the ballot that reached the quorum.
	At governance.Timestamp `ch:"reached_at"`
	// DayOnly is true if only the day of that ballot is known. At is then midnight UTC.
	DayOnly bool
	// DiscoveredAt is when the warehouse first had that ballot.
	DiscoveredAt governance.Timestamp
}

// QuorumTimes returns when votes reached their quorum, by the ballots that count in order of time; others are
// missing.
func (f Feed) QuorumTimes(ctx context.Context, votes []Vote) (map[record.RefHash]QuorumTime, error) {
	if len(votes) == 0 {
		return map[record.RefHash]QuorumTime{}, nil
	}
	return warehouse.FindBy[record.RefHash, QuorumTime](ctx, f.w, "find when quorums were reached",
		fmt.Sprintf(sqlText("feed_votes_quorum"), sqlText("feed_votes_invalid")), voteTable(votes))
}

// voteTable returns the external table "wanted_votes".
func voteTable(votes []Vote) warehouse.Table {
	return warehouse.ExternalTable("wanted_votes", votes, func(vote Vote) []any {
		keys := warehouse.Values(vote.Choices, func(choice governance.Choice) string { return choice.Key })
		return []any{
			string(vote.Ref[:]), int64(vote.EndAt), vote.Quorum.String(), warehouse.NonNilTexts(vote.QuorumChoices),
			keys, int64(vote.Bounds.Least), int64(vote.Bounds.Most), string(vote.Bounds.Form),
		}
	}, ext.Column("proposal_ref", "FixedString(16)"), ext.Column("end_ms", "Int64"), warehouse.TextColumn("quorum"),
		ext.Column("quorum_choices", "Array(String)"), ext.Column("choice_keys", "Array(String)"),
		ext.Column("least_choices", "Int64"), ext.Column("most_choices", "Int64"), warehouse.TextColumn("form"))
}
