package pages

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/feed"
	"pnyx/warehouse/record"
)

// DAORows reads all rows of one DAO, for its export.
type DAORows struct {
	w     *warehouse.Warehouse
	daoID string
}

// NewDAORows returns the rows of a DAO.
func NewDAORows(w *warehouse.Warehouse, daoID string) DAORows { return DAORows{w, daoID} }

// DAOProposal is a published proposal of a DAO.
type DAOProposal struct {
	Key   governance.ProposalKey `ch:"proposal_key"`
	Ref   record.RefHash         `ch:"proposal_ref"`
	Votes uint64
	// Final says that its vote is over and all of its ballots are held.
	Final bool
	// Generation is the current sorted copy of its ballots; zero for none.
	Generation uint64
}

// Proposals returns the published proposals: first the final ones, the first that ended first.
func (d DAORows) Proposals(ctx context.Context) ([]DAOProposal, error) {
	return warehouse.Find[DAOProposal](ctx, d.w, "list the proposals of "+d.daoID, sqlText("dao_rows_proposals"), clickhouse.Named("dao", d.daoID))
}

// Topics returns the keys of the visible topics, the oldest first.
func (d DAORows) Topics(ctx context.Context) ([]governance.TopicKey, error) {
	return warehouse.Find[governance.TopicKey](ctx, d.w, "list the topics of "+d.daoID,
		"SELECT topic_key FROM topic_states FINAL WHERE dao_id = {dao:String} AND visible ORDER BY created_at, topic_key",
		clickhouse.Named("dao", d.daoID))
}

// Events calls yield with the events from a time up to, and without, another one, the first first.
// They lack the name of the DAO.
func (d DAORows) Events(ctx context.Context, from, to time.Time, yield func(governance.EventRow) error) error {
	return warehouse.EachRow(ctx, d.w, "read the events of "+d.daoID, feed.EventRows+sqlText("dao_rows_events"), yield,
		clickhouse.Named("dao", d.daoID), clickhouse.Named("from", from.UnixMilli()), clickhouse.Named("to", to.UnixMilli()))
}

// Changes returns the keys in the log of changes after a place and up to another, in milliseconds.
func (d DAORows) Changes(ctx context.Context, epoch, after, until uint64) ([]governance.Change, error) {
	return warehouse.Find[governance.Change](ctx, d.w, "list the changes of "+d.daoID, "SELECT DISTINCT kind, key FROM changes "+
		"WHERE epoch = {epoch:UInt64} AND at_ms > {after:UInt64} AND at_ms <= {until:UInt64} AND dao_id = {dao:String} ORDER BY kind, key",
		clickhouse.Named("epoch", epoch), clickhouse.Named("after", after), clickhouse.Named("until", until),
		clickhouse.Named("dao", d.daoID))
}

// BallotsVersion identifies the ballots of a proposal that count.
type BallotsVersion struct {
	Votes uint64
	Hash  uint64 // differs when one of the casts does
}

// BallotVersions returns the versions of the ballots of proposals; those without any are missing.
func (d DAORows) BallotVersions(ctx context.Context, refs []record.RefHash) (map[record.RefHash]BallotsVersion, error) {
	return warehouse.FindBy[record.RefHash, BallotsVersion](ctx, d.w, "compare the ballots of "+d.daoID,
		sqlText("dao_rows_ballot_versions"), warehouse.RefTable(refs))
}

// Ballots returns the ballots of proposals, each proposal's by power; at most limit in all.
func (d DAORows) Ballots(ctx context.Context, refs []record.RefHash, limit int) (map[record.RefHash][]LatestBallot, error) {
	counting := countingBallots("proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)")
	sql := fmt.Sprintf(sqlText("ballot_page"), "proposal_ref, "+shownReason, "("+counting+")", "1", "proposal_ref, power")
	return warehouse.FindGroups[record.RefHash, LatestBallot](ctx, d.w, "read the ballots of "+d.daoID, sql,
		warehouse.RefTable(refs), warehouse.BindUnknownTime(), clickhouse.Named("limit", limit))
}
