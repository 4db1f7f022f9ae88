package hub

import (
	"context"
	"log/slog"
	"time"

	"pnyx/fetch"
	"pnyx/follow"
	"pnyx/warehouse/record"
)

// Answered reads the answers of a host as each kind of answer of a hub at which harbor.eth is
// followed: the proposal 0x1, its votes, the vote 0x2, the space, the log.
func Answered(ctx context.Context, host *fetch.Host) []record.Record {
	h := &Hub{Host: host, Spaces: []string{"harbor.eth"}, Logger: slog.New(slog.DiscardHandler)}
	p := &reader{Hub: h, journal: &follow.Journal{}, items: map[string]*item{}, lack: map[string]uint64{}, seen: map[int64]time.Time{}}
	var f findings
	found, _ := p.readProposals(ctx, &f, []string{"0x1"}, nil)
	for id := range found {
		_ = found[id].Space
	}
	if got, err := p.list(ctx, "proposals", "proposals", map[string]any{}, 0, proposalsPage); err == nil {
		p.takeProposals(&f, got.rows, func(head proposalHead) error { return refuse(head.Space.ID != "harbor.eth") }, nil, map[string]proposalHead{})
	}
	_, _ = p.readVotes(ctx, &f, []string{"0x2"})
	if got, err := p.ask(ctx, "spaces", nil); err == nil {
		_, _ = p.takeSpaces(&f, got["spaces"], []string{"harbor.eth"})
	}
	if messages, _, _, err := (messageLog{p}).readLog(ctx, &f, 7); err == nil {
		messageLog{p}.remember(7, messageLog{p}.plausible(&f, messages, 7), time.Unix(1, 0))
	}
	return f.records
}
