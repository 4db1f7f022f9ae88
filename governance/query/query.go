// Package query defines the query of each list: one struct per list, with its filter, its
// order, its page size and the position that a page begins after.
//
// A struct is written once and used by everyone between the caller and the table. The
// api package reads the parameters of a route from the struct's tags and parses requests
// into it; the cache package stores it in the request for a page; the warehouse package
// turns it into SQL. Queries are data: nothing here knows HTTP, Redis or ClickHouse.
//
// These tags describe a parameter:
//
//	param     its name in requests; a field without it is no parameter
//	in        "path" for a part of the path; without the tag it is in the query
//	doc       what it means, as a sentence for callers
//	example   a value that works
//	default   the value when a request leaves it out
//	min, max  the bounds of an integer
//	required  "true" when a request must give it
//	sample    "true" when examples of requests give it, though it is not required
//	exists    "true" when the answer is 404 for a value that names nothing
//	bound     "false" when cursors are good for any value of it
//
// The kind of a parameter follows from the type of its field, and the values of a closed
// set from Values. A pointer to a struct is a keyset position, which callers pass as an
// opaque cursor. A field that is zero selects everything, lists of values are sorted, and the
// end of a window is not part of it.
package query

// Kind names a list, or another answer, whose pages are computed on demand.
type Kind string

// The kinds, each of the query of that name. Stored pages of the kind "history" have no labels of
// choices, and are not read.
const (
	KindBallots          Kind = "ballots"
	KindBallotExport     Kind = "ballot-export"
	KindBallotPart       Kind = "ballot-part"
	KindDAOExport        Kind = "dao-export"
	KindDAOPart          Kind = "dao-part"
	KindDelegates        Kind = "delegates"
	KindVoterDelegations Kind = "voter-delegations"
	KindOpenVotes        Kind = "open-votes"
	KindDossier          Kind = "dossier"
	KindEvents           Kind = "events"
	KindProposals        Kind = "proposals"
	KindResolve          Kind = "resolve"
	KindSignals          Kind = "signals"
	KindTopics           Kind = "topics"
	KindVoters           Kind = "voters"
	KindProfile          Kind = "profile"
	KindVoterVotes       Kind = "voter-votes"
)

// Page is a query that identifies one page completely: equal queries have equal pages. It is
// in canonical form, so that two spellings of one request are equal.
type Page interface {
	// Kind returns what the page is a page of.
	Kind() Kind
}

// Versioned is a page that publications make stale; only time makes other pages stale.
type Versioned interface {
	// Scope returns what the page's version is kept for.
	Scope() Scope
}

// A page that lost its Scope would compile, and never become stale by a publication.
var _ = []Versioned{Ballots{}, Events{}, Proposals{}, Resolve{}, Signals{}, Topics{}, Voters{}}

// ScopeOf returns the scope of a page, the zero Scope for one that is not Versioned.
func ScopeOf(page Page) Scope {
	if versioned, is := page.(Versioned); is {
		return versioned.Scope()
	}
	return Scope{}
}

// Scope identifies the pages that share a version: they become stale together.
type Scope struct {
	// Kind is the list that the pages belong to.
	Kind Kind
	// Subject is the proposal key or DAO id whose pages these are; empty for a list over all DAOs.
	Subject string
}

// The sizes of pages: requests for 20 rows and for 50 share one.
const (
	ShortPage = 100
	LongPage  = 500
)

// PageSize returns the size of the page that limit rows are cut from.
func PageSize(limit int) int {
	if limit <= ShortPage {
		return ShortPage
	}
	return LongPage
}

// Paging selects one page of a list whose order compares a Position. The default and the
// maximum of Limit are tags of the field that embeds it.
type Paging[Position any] struct {
	// After is the position of the last row of the page before; nil selects the first page.
	After *Position `param:"cursor" doc:"Where to go on: meta.page.nextCursor of the page before."`
	// Limit is the maximum number of rows of the page.
	Limit int `param:"limit" min:"1" bound:"false" doc:"Rows a page."`
}

// Pages returns the paging of a query, to be changed.
func (p *Paging[Position]) Pages() *Paging[Position] { return p }

// ReadAhead raises Limit by the one row that tells whether another page follows.
func (p *Paging[Position]) ReadAhead() { p.Limit++ }
