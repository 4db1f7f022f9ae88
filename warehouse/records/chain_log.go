package records

import (
	"context"
	"fmt"
	"time"

	"pnyx/warehouse"
)

// ChainLog is a log of a followed Governor or of its timelock, as published.
type ChainLog struct {
	ChainLogKey
	ChainID uint64 // by EIP-155
	// BlockNumber, BlockHash and LogIndex are the place of the log.
	BlockNumber uint64
	BlockHash   string
	LogIndex    uint32
	// Address is the contract that emitted the log, TxHash the transaction.
	Address, TxHash string
	BlockAt         time.Time
	// Topics and Data are in hexadecimal, in lower case.
	Topics []string
	Data   string
	// Withdrawn is true if the block was replaced by another.
	Withdrawn bool
}

// ChainLogKey is what a log is about. Logs with one key make a proposal or a ballot.
type ChainLogKey struct {
	// Governor is the contract's address in lower case.
	Governor string
	// ProposalID is decimal; for a log of a timelock it is the id of the operation in
	// hexadecimal, and it is empty for other logs about no proposal.
	ProposalID string
	// Voter is an address in lower case; empty for logs other than votes.
	Voter string
}

// LastChainLog returns the highest block with a log of a chain; 0 for none.
func LastChainLog(ctx context.Context, w *warehouse.Warehouse, chainID uint64) (uint64, error) {
	const sql = "SELECT max(block_number) FROM chain_logs WHERE chain_id = ?"
	return warehouse.FindValue[uint64](ctx, w, fmt.Sprintf("read the last log of chain %d", chainID), sql, chainID)
}

// ChainLogs returns the logs in blocks first to last, withdrawn ones included.
func ChainLogs(ctx context.Context, w *warehouse.Warehouse, chainID, first, last uint64) ([]ChainLog, error) {
	return warehouse.Find[ChainLog](ctx, w, fmt.Sprintf("read the logs in blocks %d to %d of chain %d", first, last, chainID),
		fmt.Sprintf(sqlText("chain_log"), "block_number BETWEEN ? AND ?"), chainID, first, last)
}

// ChainLogsAbout returns the logs with some keys, withdrawn ones too, in the order of the chain.
func ChainLogsAbout(ctx context.Context, w *warehouse.Warehouse, chainID uint64, keys []ChainLogKey) ([]ChainLog, error) {
	wanted := warehouse.ExternalTable("wanted_logs", keys,
		func(k ChainLogKey) []any { return []any{k.Governor, k.ProposalID, k.Voter} },
		warehouse.TextColumn("governor"), warehouse.TextColumn("proposal_id"), warehouse.TextColumn("voter"))
	const condition = "(governor, proposal_id, voter) IN (SELECT governor, proposal_id, voter FROM wanted_logs)"
	return warehouse.Find[ChainLog](ctx, w, fmt.Sprintf("read the logs about %d keys of chain %d", len(keys), chainID),
		fmt.Sprintf(sqlText("chain_log"), condition), wanted, chainID)
}

// ChainLogsOf returns the logs about a proposal of a Governor, its votes and withdrawn ones
// included, in the order of the chain. Logs about none have an empty proposal.
func ChainLogsOf(ctx context.Context, w *warehouse.Warehouse, chainID uint64, governor, proposal string) ([]ChainLog, error) {
	return warehouse.Find[ChainLog](ctx, w, fmt.Sprintf("read the logs about proposal %q of %s", proposal, governor),
		fmt.Sprintf(sqlText("chain_log"), "governor = ? AND proposal_id = ?"), chainID, governor, proposal)
}

// TimelockLogs returns the logs of a Governor's timelock, withdrawn ones too, in the order of the chain.
func TimelockLogs(ctx context.Context, w *warehouse.Warehouse, chainID uint64, governor string) ([]ChainLog, error) {
	const condition = "governor = ? AND proposal_id >= '0x' AND proposal_id < '0y'"
	return warehouse.Find[ChainLog](ctx, w, fmt.Sprintf("read the logs of the timelock of %s", governor),
		fmt.Sprintf(sqlText("chain_log"), condition), chainID, governor)
}

// WriteChainLogs writes logs. A later one replaces an earlier one with the same key and place.
func WriteChainLogs(ctx context.Context, w *warehouse.Warehouse, logs []ChainLog) error {
	rows := warehouse.Values(logs, func(l ChainLog) []any {
		return []any{
			l.ChainID, l.Governor, l.ProposalID, l.Voter, l.BlockNumber, l.BlockHash, l.LogIndex, l.Address,
			l.TxHash, l.BlockAt, l.Topics, l.Data, l.Withdrawn, w.FollowVersion.Next(),
		}
	})
	return warehouse.InsertRows(ctx, w, sqlText("chain_log_insert"), "write the logs of a chain", rows)
}

// UnreadChainLog counts standing logs of a Governor that came to no record: those about no
// proposal by event, and those about a proposal that no log creates by proposal.
type UnreadChainLog struct {
	Governor, ProposalID, Topic string
	Logs                        uint64
}

// UnreadChainLogs counts the logs of a chain that came to no record. parameters are the topics
// of events about no proposal that are read, creations the topics of events that create one.
func UnreadChainLogs(ctx context.Context, w *warehouse.Warehouse, chainID uint64, parameters, creations []string) ([]UnreadChainLog, error) {
	return warehouse.Find[UnreadChainLog](ctx, w, fmt.Sprintf("count the logs of chain %d that are not read", chainID),
		sqlText("chain_log_unread"), chainID, parameters, creations)
}
