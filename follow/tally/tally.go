// Package tally follows organizations at an endpoint of Tally's API.
//
// Tally has no log of changes, and the state and votes of a proposal change without a trace: the newest proposals
// and the open ones are polled. A key may send about one request a second.
package tally

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"pnyx/clock"
	"pnyx/fetch"
	"pnyx/follow"
	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
	"pnyx/warehouse/source"
)

// Tally is an endpoint as one upstream, with what is followed there. It is safe for concurrent use.
type Tally struct {
	// Host is the endpoint, at the address of its queries and at Pace.
	Host   *fetch.Host
	APIKey string
	Slugs  []string
	// Clock is nil for the system's.
	Clock *clock.Clock

	// earlier is true if the endpoint knows votes by their earlier name.
	earlier atomic.Bool
}

// Pace is how often an endpoint may be asked: a little less than once a second.
func Pace() fetch.Pace {
	return fetch.Pace{Requests: 54, Burst: 1, Per: time.Minute}
}

// pollInterval is the time between two polls of the newest and of the open proposals.
const pollInterval = time.Minute

const (
	pollerLog      = "log"
	pollerWatch    = "watch"
	pollerBackfill = "backfill"
)

// ID implements follow.Upstream.
func (t *Tally) ID() string { return "tally:" + t.Host.Name() }

// Sources implements follow.Upstream.
func (t *Tally) Sources() []record.SourceRef {
	return warehouse.Values(t.Slugs, func(slug string) record.SourceRef { return record.SourceRef{Provider: governance.Tally, ID: slug} })
}

// Pollers implements follow.Upstream.
func (t *Tally) Pollers(journal *follow.Journal) (all []follow.Poller) {
	for _, ref := range t.Sources() {
		o := &organization{Tally: t, journal: journal, source: ref, behind: map[string]bool{}, refused: map[string]refusal{}}
		all = append(all,
			follow.Poller{Source: ref, Name: pollerLog, Interval: pollInterval, Run: o.readNewest},
			follow.Poller{Source: ref, Name: pollerWatch, Interval: pollInterval, Run: o.readOpen},
			follow.Poller{Source: ref, Name: pollerBackfill, Interval: pollInterval, Run: o.backfill})
	}
	return all
}

type organization struct {
	*Tally

	journal *follow.Journal
	source  record.SourceRef

	// mu guards what the pollers share.
	mu sync.Mutex
	id string // empty before the first request
	// notes are what is remembered of each proposal, by its id; nil before they are read.
	notes map[string]note
	// seen are hashes of the last answer for each proposal.
	seen map[string]uint64
	// behind is true of the Governors, by id, that the endpoint says lag behind their chain.
	behind map[string]bool

	// What follows belongs to poller backfill alone. after is the cursor of the walk over all proposals, and walk the
	// walk over the votes of one.
	after string
	walk  *walk
	// pages is the number of pages that the walk over all proposals has read.
	pages int
	// refused are the proposals whose walks were refused, or saw fewer votes than are stated; refusals counts the pages
	// that were refused in a row.
	refusals int
	refused  map[string]refusal
}

type refusal struct {
	at time.Time
	// seen is how many votes the walk saw; nil if it did not get to their end.
	seen *int
}

// load asks for the organization and reads what is remembered of its proposals, once.
func (o *organization) load(ctx context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.notes != nil {
		return nil
	}
	found, id, err := o.describe(ctx)
	if err != nil {
		return err
	}
	if err := o.journal.Commit(ctx, []record.Record{found}); err != nil {
		return err
	}
	items, err := records.FollowedItems(ctx, o.journal.Warehouse, o.ID())
	if err != nil {
		return err
	}
	notes := map[string]note{}
	for _, item := range items {
		var n note
		if item.SourceID == o.source.ID && json.Unmarshal([]byte(item.Note), &n) == nil {
			notes[item.ItemID] = n
		}
	}
	o.id, o.notes, o.seen = id, notes, map[string]uint64{}
	return nil
}

func (o *organization) describe(ctx context.Context) (found record.Record, id string, err error) {
	answered, err := o.ask(ctx, "organization", map[string]any{"slug": o.source.ID})
	if err != nil {
		return nil, "", err
	}
	var said struct {
		ID string `json:"id"`
	}
	if err := fetch.Decode(answered.value, &said); err != nil || said.ID == "" {
		return nil, "", fmt.Errorf("answer of %s for organization %s has no id", o.Host.Name(), o.source.ID)
	}
	found = o.journal.Read(follow.Asked{Format: source.TallyOrganization, Source: o.source, ItemID: o.source.ID}, answered.value)
	if found == nil {
		return nil, "", fmt.Errorf("answer of %s for organization %s is another's, or none", o.Host.Name(), o.source.ID)
	}
	return found, said.ID, nil
}

func (o *organization) cursor(poller string, position any) records.FollowCursor {
	return o.journal.At(o.source, poller, position)
}

// state is the state of a poller which has read everything there is.
func (o *organization) state() governance.SourceState {
	o.mu.Lock()
	defer o.mu.Unlock()
	if slices.Contains(slices.Collect(maps.Values(o.behind)), true) {
		return governance.SourceBehind
	}
	return governance.SourceLive
}

// Check implements follow.Upstream.
func (t *Tally) Check(ctx context.Context) []follow.Check {
	checks := make([]follow.Check, len(t.Slugs))
	for i, slug := range t.Slugs {
		checks[i] = follow.Check{Source: slug, Limit: "about 1 request a second for a key"}
		answered, err := t.ask(ctx, "organization", map[string]any{"slug": slug})
		var said struct {
			Name           string      `json:"name"`
			ProposalsCount fetch.Count `json:"proposalsCount"`
		}
		if err == nil {
			err = fetch.Decode(answered.value, &said)
		}
		if err != nil {
			checks[i].Problem, checks[i].Silent = err.Error(), !errors.As(err, new(*queryError))
			continue
		}
		checks[i].Is = fmt.Sprintf("Tally organization %s, %d proposals", said.Name, said.ProposalsCount)
		proposals := int(min(said.ProposalsCount, maxPages*maxPage))
		polls := int(24 * time.Hour / pollInterval)
		checks[i].RequestsPerDay = polls + proposals/maxPage + 1
		// Two open proposals, and a page of votes for each poll of one.
		checks[i].RequestsPerDayBusy = checks[i].RequestsPerDay + 4*polls
	}
	return checks
}
