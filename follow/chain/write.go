package chain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

type change struct {
	// logs are new or read again, stale are logs of replaced blocks. What they are about is computed again in any
	// case: so a write that was interrupted between the logs and their records is completed.
	logs  []chainLog
	stale []records.ChainLog
	// again are logs that are read again: logs of tokens and registries are written again, and
	// withdrawn are held ones of them that are withdrawn.
	again     []chainLog
	withdrawn []records.ChainLog
	// also are keys that are computed again for another reason.
	also []records.ChainLogKey
	// consult has contracts asked about the proposals of also.
	consult bool
	// final is the block up to which proposals are not provisional.
	final uint64
}

// place identifies a log among those that were ever read.
type place struct {
	hash  string
	index uint64
}

func placeOf(l records.ChainLog) place { return place{l.BlockHash, uint64(l.LogIndex)} }

// write stores logs, computes the records that they are about, and commits these with cursors. The number of
// withdrawn logs is added to the first cursor.
func (c *Chain) write(ctx context.Context, ch change, cursors ...records.FollowCursor) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	rows := c.decodeAll(ch.logs)
	if len(cursors) > 0 {
		cursors[0].Withdrawn += uint64(len(ch.stale))
	}
	stated := tokens{c}.statementRows(slices.Concat(ch.logs, ch.again))
	for _, l := range stated {
		if l.BlockNumber > ch.final { // a final one needs no other trace than its record
			rows = append(rows, l)
		}
	}
	for _, l := range ch.stale {
		l.Withdrawn = true
		rows = append(rows, l)
	}
	for _, l := range slices.Concat(rows, ch.withdrawn) {
		if l.Withdrawn { // the write that withdrew it may have been interrupted before its record
			stated = append(stated, l)
		}
	}
	if err := records.WriteChainLogs(ctx, c.journal.Warehouse, rows); err != nil {
		return err
	}
	records, consulted, err := c.compute(ctx, rows, ch)
	if err != nil {
		return err
	}
	records = append(records, tokens{c}.statementRecords(stated)...)
	for _, g := range c.governors {
		if err := (consultant{c}).announce(ctx, g, consulted[g]); err != nil {
			return err
		}
	}
	if err := c.journal.Commit(ctx, records, cursors...); err != nil {
		return err
	}
	for _, g := range c.governors {
		if err := (consultant{c}).saveNotes(ctx, g, consulted[g]); err != nil {
			return err
		}
		for _, p := range consulted[g] {
			n := g.note(p.id)
			n.unwritten, n.renewed = false, false
		}
	}
	return nil
}

// decodeAll turns logs into rows. A log of a Governor that is not read is kept as rejected.
func (c *Chain) decodeAll(logs []chainLog) (rows []records.ChainLog) {
	for _, l := range logs {
		e, err := parse(l.Topics, l.Data)
		for _, g := range c.emitters(strings.ToLower(l.Address)) {
			if !g.keeps(l, e) {
				continue
			}
			if err != nil {
				c.journal.Reject(g.source, fmt.Sprintf("block %d log %d", l.BlockNumber, l.index()), err)
			}
			if e.kind == eventParameters || e.kind == eventUpgraded {
				g.outdate(e.kind, uint64(l.BlockNumber))
			}
			rows = append(rows, storedLog(c.ChainID, g.address, l, e))
		}
	}
	return rows
}

// keeps reports whether a log, which is the zero event if it is not read, is stored for a
// Governor. A timelock executes what any proposer proposes: it states operations, and no votes.
func (g *governor) keeps(l chainLog, e event) bool {
	ofTimelock := e.kind == eventScheduled || e.kind == eventDone
	return e.kind != eventOther && ofTimelock != (strings.ToLower(l.Address) == g.address)
}

// isKept reports whether a log is stored for any Governor.
func (c *Chain) isKept(l chainLog) bool {
	if (tokens{c}).isStatement(l) {
		return true
	}
	e, _ := parse(l.Topics, l.Data) // what is not read is kept, too
	return slices.ContainsFunc(c.emitters(strings.ToLower(l.Address)), func(g *governor) bool { return g.keeps(l, e) })
}

// compute returns the records that rows are about, and the proposals about which the contract was asked.
func (c *Chain) compute(
	ctx context.Context, rows []records.ChainLog, ch change,
) (list []record.Record, consulted map[*governor][]proposal, err error) {
	keys, changed := c.note(rows, ch)
	if slices.ContainsFunc(rows, func(l records.ChainLog) bool { return l.Voter == "" || l.Withdrawn }) {
		c.unsure.Store(true)
	}
	if len(keys) == 0 {
		return nil, nil, nil
	}
	logs, err := records.ChainLogsAbout(ctx, c.journal.Warehouse, c.ChainID, slices.Collect(maps.Keys(keys)))
	if err != nil {
		return nil, nil, err
	}
	byKey := map[records.ChainLogKey][]records.ChainLog{}
	for _, l := range logs {
		byKey[l.ChainLogKey] = append(byKey[l.ChainLogKey], l)
	}
	consulted = map[*governor][]proposal{}
	for _, g := range c.governors {
		if err := c.probe(ctx, g); err != nil && !c.isRefused(ctx, g, err) {
			return nil, nil, err
		}
		var proposals []proposal
		for key := range keys {
			if key.Governor != g.address || key.Voter != "" {
				continue
			}
			p, known := foldProposal(byKey[key])
			if !known {
				c.unsure.Store(true)
				continue
			}
			proposals = append(proposals, p)
			if changed[key] || g.notes[p.id] == nil {
				consulted[g] = append(consulted[g], p)
			}
		}
		renewed, err := consultant{c}.consult(ctx, g, consulted[g], !ch.consult)
		if err != nil && (ch.consult || !c.isRefused(ctx, g, err)) {
			return nil, nil, err
		}
		if err != nil {
			for _, p := range consulted[g] {
				g.note(p.id).Start.Value = "" // pollState asks again
			}
		}
		for _, id := range renewed {
			logs, err := records.ChainLogsOf(ctx, c.journal.Warehouse, c.ChainID, g.address, id)
			if err != nil {
				return nil, nil, err
			}
			all := map[records.ChainLogKey][]records.ChainLog{}
			for _, l := range logs {
				all[l.ChainLogKey] = append(all[l.ChainLogKey], l)
			}
			maps.Copy(byKey, all)
		}
		list = append(list, c.recordsOf(g, proposals, byKey, ch.final)...)
	}
	return list, consulted, nil
}

// isRefused reports, also in the log, that endpoints refuse the calls of one contract: what was known of it stays.
func (c *Chain) isRefused(ctx context.Context, g *governor, err error) bool {
	refused, is := errors.AsType[*rpcError](err)
	if is = is && !refused.isLimit(); is {
		c.Logger.LogAttrs(ctx, slog.LevelWarn, "calls of a contract are refused", slog.String("governor", g.source.ID), slog.Any("error", err))
	}
	return is
}

// note returns the keys that rows are about, and the keys of proposals whose facts changed. It notes in the
// position which proposals have logs above the final block.
func (c *Chain) note(rows []records.ChainLog, ch change) (keys, changed map[records.ChainLogKey]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	keys, changed = map[records.ChainLogKey]bool{}, map[records.ChainLogKey]bool{}
	for _, key := range ch.also {
		keys[key] = true
		changed[key] = ch.consult
	}
	for _, l := range rows {
		c.position.logged = max(c.position.logged, l.BlockNumber)
		if strings.HasPrefix(l.ProposalID, "0x") {
			for _, id := range c.executable(l.Governor) {
				about := records.ChainLogKey{Governor: l.Governor, ProposalID: id}
				keys[about], changed[about] = true, true
			}
		}
		if l.ProposalID == "" || strings.HasPrefix(l.ProposalID, "0x") {
			continue
		}
		about := records.ChainLogKey{Governor: l.Governor, ProposalID: l.ProposalID}
		keys[about], keys[l.ChainLogKey] = true, true
		if l.Voter == "" {
			changed[about] = true
		}
		if l.BlockNumber > ch.final {
			c.position.recent[about] = max(c.position.recent[about], l.BlockNumber)
		}
	}
	return keys, changed
}

// executable returns the proposals of a Governor that a log of its timelock may execute or date.
func (c *Chain) executable(address string) (ids []string) {
	for _, g := range c.governors {
		for id, n := range g.notes {
			if g.address == address && (n.State == "queued" || n.Undated || n.Executed != nil) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// recordsOf returns the records of a Governor: source, proposals, ballots. What cannot be represented is rejected.
func (c *Chain) recordsOf(
	g *governor, proposals []proposal, byKey map[records.ChainLogKey][]records.ChainLog, final uint64,
) (records []record.Record) {
	add := func(id string, r record.Record, left error) {
		if left != nil {
			c.journal.Reject(g.source, "part of "+id, left) // the rest is read
		}
		records = append(records, r)
	}
	for _, p := range proposals {
		r, left := g.proposalRecord(c.ID(), p, c.isProvisional(g, p, final))
		add(p.id, r, left)
	}
	for key, logs := range byKey {
		if key.Governor != g.address || key.Voter == "" {
			continue
		}
		b, known := foldBallot(g.rulesOf(key.ProposalID), logs)
		if !known {
			continue
		}
		r, left := g.ballotRecord(b)
		add(r.VoteID, r, left)
	}
	if len(records) > 0 {
		records = append(records, g.record(fmt.Sprint(c.ChainID)))
	}
	return records
}

func (c *Chain) isProvisional(g *governor, p proposal, final uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.position.recent[records.ChainLogKey{Governor: g.address, ProposalID: p.id}] > final
}

// stale returns the held logs whose block was replaced, also above those that were read. A log of a block that
// stands is not stale, even if an answer lacks it.
func (c *Chain) stale(ctx context.Context, e *endpoint, got blocks, held []records.ChainLog) ([]records.ChainLog, error) {
	read := map[place]bool{}
	for _, l := range got.logs {
		read[place{l.BlockHash, l.index()}] = true
	}
	missing := slices.DeleteFunc(slices.Clone(held), func(l records.ChainLog) bool { return l.Withdrawn || read[placeOf(l)] })
	var unknown []uint64
	for _, l := range missing {
		if _, known := got.hashes[l.BlockNumber]; !known && l.BlockNumber <= got.last && !slices.Contains(unknown, l.BlockNumber) {
			unknown = append(unknown, l.BlockNumber)
		}
	}
	found, err := c.client.headers(ctx, e, unknown)
	if err != nil {
		return nil, err
	}
	for number, h := range found {
		got.hashes[number] = h.Hash
	}
	return slices.DeleteFunc(missing, func(l records.ChainLog) bool { return got.hashes[l.BlockNumber] == l.BlockHash }), nil
}

// touched returns the keys of withdrawn logs, whose write may have been interrupted before their records.
func touched(held []records.ChainLog) (keys []records.ChainLogKey) {
	for _, l := range held {
		if l.Withdrawn && l.ProposalID != "" && !strings.HasPrefix(l.ProposalID, "0x") {
			keys = append(keys, l.ChainLogKey, records.ChainLogKey{Governor: l.Governor, ProposalID: l.ProposalID})
		}
	}
	return keys
}
