package explore

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"pnyx/api/apierror"
	"pnyx/governance"
)

const (
	// homeVotes is how many open votes it shows, and how many that are decided.
	homeVotes   = 12
	homeSignals = 6
	// homeDAOs is how many DAOs it shows, the most active of homeReads pages of searchPerRead.
	homeDAOs, homeReads = 12, 10
	// homeMonths is how many months a small curve has.
	homeMonths = 24
	// homeTimeout bounds the wait for what its visitor has not paid for.
	homeTimeout = 2 * time.Second
	// recently is the time over which votes are decided recently.
	recently = 7 * 24 * time.Hour
)

// homePage is what the first page shows: what is going on, for everyone.
type homePage struct {
	// Open are votes in progress, the next to end first.
	Open []openVote
	// Decided are votes that ended recently, the last to end first.
	Decided []listedVote
	Signals []namedSignal
	// DAOs are the most active, and Count is how many were looked at; All says that there are no others.
	DAOs    []activeDAO
	Count   int
	All     bool
	Missing []string // what could not be read at the moment
}

type listedVote struct {
	governance.ProposalListItem

	DAO string
}

type openVote struct {
	listedVote

	// Leader is the choice with the most power, and Share its part of all power; empty for none.
	Leader, Share string
	// Tied says that several choices lead.
	Tied bool
	// Empty says that there are no ballots yet, and Partial that some are missing: nobody knows who leads.
	Empty, Partial bool
	// Quorum says how much of the quorum is there; empty where there is none.
	Quorum string
}

type namedSignal struct {
	governance.Signal

	DAO string
}

type activeDAO struct {
	governance.DAOListItem

	Months []bar
}

type home struct {
	*visit

	page  homePage
	names map[string]string
	now   time.Time
}

// showHome shows what is going on: parts of what paid routes answer, for nothing.
func showHome(v *visit) (shown, error) {
	h := home{visit: v, names: map[string]string{}, now: time.Now().UTC()}
	if err := h.loadDAOs(); err != nil {
		return shown{}, err
	}
	ctx, cancel := context.WithTimeout(v.c.UserContext(), homeTimeout)
	defer cancel()
	v.c.SetUserContext(ctx)
	for _, one := range []struct {
		title string
		load  func() error
	}{
		{"open votes", h.loadOpen}, {"decided votes", h.loadDecided}, {"signals", h.loadSignals}, {"ballots by month", h.loadMonths},
	} {
		if err := one.load(); err != nil {
			h.page.Missing = append(h.page.Missing, one.title)
		}
	}
	return shown{
		view: viewHome, data: h.page, title: "Explore",
		description: "Open votes of decentralized organizations, what was decided this week and what deserves attention.",
	}, nil
}

// loadDAOs reads the directory: names, and the DAOs by activity.
func (h *home) loadDAOs() error {
	var all []governance.DAOListItem
	cursor := ""
	for range homeReads {
		listed, err := loadMain[[]governance.DAOListItem](h.visit, "daos.list", with(nil, argCursor, cursor, argLimit, searchPerRead))
		if err != nil {
			return err
		}
		all = append(all, listed.Data...)
		if cursor = listed.Next; cursor == "" {
			break
		}
	}
	for _, dao := range all {
		h.names[dao.DAOID] = dao.Name
	}
	latest := func(dao governance.DAOListItem) governance.Timestamp {
		if at := governance.Later(dao.LatestActivity.ProposalAt, dao.LatestActivity.VoteAt); at != nil {
			return *at
		}
		return 0
	}
	slices.SortStableFunc(all, func(a, b governance.DAOListItem) int {
		return cmp.Or(cmp.Compare(b.ProposalCounts.Active, a.ProposalCounts.Active), cmp.Compare(latest(b), latest(a)))
	})
	h.page.Count, h.page.All = len(all), cursor == ""
	for _, dao := range all[:min(homeDAOs, len(all))] {
		h.page.DAOs = append(h.page.DAOs, activeDAO{DAOListItem: dao})
	}
	return nil
}

func (h *home) loadOpen() error {
	open, err := loadFree[[]governance.ProposalListItem](h.visit, "proposals.list",
		texts{"lifecycleStatus": string(governance.Active), "sort": "endingSoon", argLimit: "50"})
	if err != nil {
		return err
	}
	for _, item := range open.Data {
		if len(h.page.Open) == homeVotes {
			break
		}
		if item.EndAt != nil && !item.EndAt.Time().After(h.now) {
			continue // it is about to be counted
		}
		vote := openVote{listedVote: h.named(item)}
		summary, err := loadFree[governance.VoteSummary](h.visit, "proposals.vote-summary", texts{argProposal: string(item.ProposalKey)})
		if err != nil && !isMissing(err) {
			return err
		}
		vote.describe(summary.Data)
		h.page.Open = append(h.page.Open, vote)
	}
	return nil
}

// describe sets who leads, and how much of the quorum is there.
func (v *openVote) describe(summary governance.VoteSummary) {
	v.Partial = isPartial(summary)
	if quorum := summary.Quorum; quorum != nil {
		v.Quorum = percent(number(quorum.Progress), decimal.NewFromInt(1)) + " of quorum"
		if quorum.Type == governance.QuorumOfRejection {
			v.Quorum += " of rejection"
		}
		if v.Partial {
			v.Quorum = "at least " + v.Quorum
		}
	}
	if summary.Totals == nil || v.Partial {
		return
	}
	total := number(summary.Totals.VotingPower)
	if v.Empty = total.IsZero(); v.Empty {
		return
	}
	top := decimal.Zero
	for _, choice := range summary.Choices {
		switch power := number(choice.VotingPower); power.Cmp(top) {
		case 1:
			top, v.Leader, v.Share, v.Tied = power, choice.Label, percent(power, total), false
		case 0:
			v.Tied = v.Leader != ""
		}
	}
}

func (h *home) loadDecided() error {
	decided, err := loadFree[[]governance.ProposalListItem](h.visit, "proposals.list", with(h.days(),
		"lifecycleStatus", string(governance.Closed), "timeField", "endAt", "sort", "endingSoon", argLimit, "50"))
	for _, item := range decided.Data {
		if len(h.page.Decided) < homeVotes && item.EndAt != nil && !item.EndAt.Time().After(h.now) {
			h.page.Decided = append(h.page.Decided, h.named(item))
		}
	}
	return err
}

// loadSignals reads what deserves attention and may still be acted on.
func (h *home) loadSignals() error {
	signals, err := loadFree[[]governance.Signal](h.visit, "signals.list", with(h.days(), argLimit, "50"))
	for _, signal := range signals.Data {
		if len(h.page.Signals) < homeSignals && signal.Actionability != governance.Expired {
			h.page.Signals = append(h.page.Signals, namedSignal{signal, h.nameOf(signal.DAOID)})
		}
	}
	return err
}

func (h *home) loadMonths() error {
	for i := range h.page.DAOs {
		timeline, err := loadFree[governance.Timeline](h.visit, "daos.timeline",
			texts{argDAO: h.page.DAOs[i].DAOID, argMetric: governance.VotesCast})
		if err != nil && !isMissing(err) {
			return err
		}
		var months []bar
		for _, bucket := range timeline.Data.Buckets {
			months = append(months, bar{Label: bucket.Month, Value: bucket.Value})
		}
		h.page.DAOs[i].Months = columns(months[max(0, len(months)-homeMonths):])
	}
	return nil
}

// isMissing reports whether an error says that something does not exist any more.
func isMissing(err error) bool {
	failed, is := errors.AsType[*apierror.Error](err)
	return is && failed.Status == http.StatusNotFound
}

// days is the range of what is recent, in whole days: the same for all visitors of a day.
func (h *home) days() texts {
	return texts{"from": h.now.Add(-recently).Format(time.DateOnly), "to": h.now.Add(24 * time.Hour).Format(time.DateOnly)}
}

func (h *home) named(item governance.ProposalListItem) listedVote {
	return listedVote{item, h.nameOf(item.Identity.DAOID)}
}

// nameOf returns the name of a DAO, or the id of one that was not looked at.
func (h *home) nameOf(id string) string { return cmp.Or(strings.TrimSpace(h.names[id]), id) }

// loadFree reads a paid route for a page that shows a part of the answer to everyone.
func loadFree[Data any](v *visit, routeID string, params texts) (part[Data], error) {
	reader := v.explorer.Node.NewReader(v.c)
	return decode[Data](v, routeID, reader, reader.ReadForEveryone(routeID), params)
}
