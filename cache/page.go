package cache

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"

	"github.com/vmihailenco/msgpack/v5"

	"pnyx/governance"
)

// PageKind says what a page lists.
type PageKind string

// The kinds of pages that are made on demand.
const (
	BallotPage  PageKind = "ballots"
	VoterPage   PageKind = "voters"
	ProfilePage PageKind = "profile"
	HistoryPage PageKind = "history"

	ProposalPage PageKind = "proposals"
	ResolvePage  PageKind = "resolve"
	TopicPage    PageKind = "topics"
	EventPage    PageKind = "events"
	SignalPage   PageKind = "signals"
)

// PageKinds lists the kinds of pages.
func PageKinds() []PageKind {
	return []PageKind{
		BallotPage, VoterPage, ProfilePage, HistoryPage, ProposalPage, ResolvePage, TopicPage, EventPage, SignalPage,
	}
}

// ProposalRows is no page: its mark moves before the rows are written that proposal
// pages are made from, and the marks of these pages after.
const ProposalRows PageKind = "proposal-rows"

// MaxCandidates is how many candidates a ResolvePage holds.
const MaxCandidates = 20

// Orders of a BallotPage.
const (
	ByPower = "power"
	ByTime  = "time"
)

// Sizes that pages are made in: a smaller one is cut from the next larger, so that
// callers who ask for 20 rows and for 50 share a page.
const (
	ShortPage = 100
	LongPage  = 500
)

// PageRequest asks for one page of what is too much to be worked out before
// anybody asks. It names the page completely: equal pages have equal requests, and
// so one key.
type PageRequest struct {
	Kind PageKind `msgpack:"k"`
	// Subject is the proposal's key, the DAO's id or the voter's identity; lists that
	// are nobody's have none.
	Subject string `msgpack:"s"`
	// Order is the name of the order, where there is more than one.
	Order string `msgpack:"o,omitempty"`
	Limit int    `msgpack:"l"`
	// After is the position that the page begins after; nil for the first.
	After  *Position `msgpack:"a,omitempty"`
	Filter Filter    `msgpack:"f,omitempty"`
}

// Filter selects rows of a list; a zero field selects all. What a list does not
// know of stays zero.
type Filter struct {
	DAOID      string `msgpack:"d,omitempty"`
	Provider   string `msgpack:"p,omitempty"`
	ProposerID string `msgpack:"pi,omitempty"`
	// Lifecycles and Outcomes are sorted, without repetition.
	Lifecycles []string `msgpack:"l,omitempty"`
	Outcomes   []string `msgpack:"o,omitempty"`
	// From and To bound the time that TimeField names, or the only one there is. To
	// is exclusive.
	TimeField string                `msgpack:"tf,omitempty"`
	From      *governance.Timestamp `msgpack:"f,omitempty"`
	To        *governance.Timestamp `msgpack:"t,omitempty"`
	// Types are those of events or signals, sorted, without repetition.
	Types   []string `msgpack:"y,omitempty"`
	Surface string   `msgpack:"s,omitempty"`
	// Least is the lowest importance, priority or number of replies.
	Least int `msgpack:"n,omitempty"`
	// Related selects topics that are about governance, or that are not.
	Related *bool `msgpack:"r,omitempty"`
	// URL, Title and ExternalID are what a ResolvePage looks for.
	URL        string `msgpack:"u,omitempty"`
	Title      string `msgpack:"ti,omitempty"`
	ExternalID string `msgpack:"e,omitempty"`
}

// digest names the filter: 128 bits of a hash of all its fields, "" for none.
func (f Filter) digest() string {
	none, _ := msgpack.Marshal(&Filter{}) // texts, numbers and lists of texts always encode
	fields, _ := msgpack.Marshal(&f)
	if bytes.Equal(fields, none) {
		return ""
	}
	sum := sha256.Sum256(fields)
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// Position is the sort key of a row: the values that its order compares.
type Position struct {
	// Power is set in orders by power, Number in those by a number or a group, At in
	// orders by time, nil where unknown.
	Power  governance.Decimal    `msgpack:"p,omitempty"`
	Number int64                 `msgpack:"n,omitempty"`
	At     *governance.Timestamp `msgpack:"t,omitempty"`
	// Key is the row's own key, which ends every order.
	Key string `msgpack:"k"`
}

// ProposalRow is a row of a ProposalPage. What its order goes by is no part of the
// answer.
type ProposalRow struct {
	Item     governance.ProposalListItem `msgpack:"i"`
	Position Position                    `msgpack:"p"`
}

// Key returns the name of the page's view.
func (r PageRequest) Key() Key {
	after := ""
	if r.After != nil {
		after = fmt.Sprintf("%s|%d|%s|%s", r.After.Power, r.After.Number, stampText(r.After.At), r.After.Key)
	}
	return viewKey("page", string(r.Kind), r.Subject, r.Order, strconv.Itoa(r.Limit), after,
		r.Filter.digest())
}

// VersionKey returns the name of the mark that says which revision the page is to be
// made at; it is empty for the pages of a voter, whom many publications touch. Lists
// have a mark for each DAO, and one for all of them together.
func (r PageRequest) VersionKey() Key {
	switch r.Kind {
	case BallotPage, VoterPage:
		return versionKey(r.Kind, r.Subject)
	case ProposalPage, TopicPage, EventPage, SignalPage:
		return versionKey(r.Kind, r.Filter.DAOID)
	case ResolvePage:
		return versionKey(ProposalPage, r.Filter.DAOID)
	case ProfilePage, HistoryPage, ProposalRows:
	}
	return ""
}

func stampText(stamp *governance.Timestamp) string {
	if stamp == nil {
		return ""
	}
	return strconv.FormatInt(int64(*stamp), 10)
}
