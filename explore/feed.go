package explore

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"strings"
	"time"
	"unicode"

	ics "github.com/arran4/golang-ical"
	"github.com/gofiber/fiber/v2"

	"pnyx/api"
	"pnyx/governance"
)

// Paths of the open votes of a DAO as a calendar and as a feed.
const (
	pathCalendar = Path + "/daos/:daoId/votes.ics"
	pathFeed     = Path + "/daos/:daoId/votes.atom"
)

// openVotes are the votes of a DAO that are open or about to open.
type openVotes struct {
	dao   governance.DAODetail
	votes []governance.ProposalListItem
	asOf  time.Time
	// self is the absolute address of the feed, and site the address of the server.
	self, site string
}

// feedHandler answers requests with the open votes of a DAO, free as its page is.
func (x *explorer) feedHandler(contentType string, render func(openVotes) ([]byte, error)) fiber.Handler {
	return func(c *fiber.Ctx) error {
		v := &visit{explorer: x, c: c}
		found, err := v.openVotes()
		if err != nil {
			return err
		}
		text, err := render(found)
		if err != nil {
			return fmt.Errorf("explore: %w", err)
		}
		return api.SendHTML(c, api.HTML{Text: text, ContentType: contentType})
	}
}

// openVotes reads the votes. The error is an *apierror.Error.
func (v *visit) openVotes() (openVotes, error) {
	const feedVotes = "100" // how many votes a feed has at most, the next to end first
	id, err := v.param(argDAO)
	if err != nil {
		return openVotes{}, err
	}
	if _, err := v.query(); err != nil {
		return openVotes{}, err
	}
	dao, err := loadMain[governance.DAODetail](v, "daos.detail", texts{argDAO: id}) // limits the visitor's address
	if err != nil {
		return openVotes{}, err
	}
	open, err := loadFree[[]governance.ProposalListItem](v, "proposals.list", texts{
		argDAO: id, "lifecycleStatus": string(governance.Active) + "," + string(governance.Pending), "sort": "endingSoon", argLimit: feedVotes,
	})
	if err != nil {
		return openVotes{}, err
	}
	site := cmp.Or(strings.TrimSuffix(v.explorer.PublicURL, "/"), v.c.BaseURL())
	return openVotes{dao: dao.Data, votes: open.Data, asOf: v.asOf.Time().UTC(), site: site, self: site + v.c.Path()}, nil
}

// url is the absolute address of the page of a proposal.
func (o openVotes) url(p governance.ProposalListItem) string {
	return o.site + address(pathProposal, string(p.ProposalKey), nil)
}

// plain returns a text without control characters, which lines of a calendar may not have.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}

// renderCalendar returns a calendar in the form of RFC 5545, with the end of each vote.
func renderCalendar(o openVotes) ([]byte, error) {
	calendar := ics.NewCalendarFor("Pnyx")
	calendar.SetName(plain("Votes of " + o.dao.Name))
	calendar.SetXWRCalName(plain("Votes of " + o.dao.Name))
	calendar.SetUrl(o.self)
	for _, vote := range o.votes {
		if vote.EndAt == nil {
			continue
		}
		event := calendar.AddEvent(string(vote.ProposalKey) + "@pnyx")
		event.SetDtStampTime(o.asOf)
		event.SetStartAt(vote.EndAt.Time().UTC()) // without an end, which would have to be later
		event.SetSummary(plain("Vote ends: " + titled(vote.Title, vote.ProposalKey)))
		event.SetURL(o.url(vote))
	}
	return []byte(calendar.Serialize(ics.WithNewLine("\r\n"))), nil
}

// atomFeed is a feed in the form of RFC 4287.
type atomFeed struct {
	XMLName xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
	ID      string      `xml:"id"`
	Title   string      `xml:"title"`
	Updated string      `xml:"updated"`
	Author  string      `xml:"author>name"`
	Links   []atomLink  `xml:"link"`
	Entries []atomEntry `xml:"entry"`
}

type atomLink struct {
	Rel  string `xml:"rel,attr"`
	Href string `xml:"href,attr"`
}

type atomEntry struct {
	ID      string   `xml:"id"`
	Title   string   `xml:"title"`
	Updated string   `xml:"updated"`
	Link    atomLink `xml:"link"`
	Summary string   `xml:"summary"`
}

// changedAt is when an entry last changed: when its proposal was created, or its vote began. Ballots change none.
func (o openVotes) changedAt(p governance.ProposalListItem) time.Time {
	var last *governance.Timestamp
	for _, at := range []*governance.Timestamp{p.CreatedAt, p.StartAt} {
		if at != nil && !at.Time().After(o.asOf) {
			last = governance.Later(last, at)
		}
	}
	if last == nil {
		return o.asOf
	}
	return last.Time()
}

func renderFeed(o openVotes) ([]byte, error) {
	asOf := o.asOf.Format(time.RFC3339)
	feed := atomFeed{
		ID: o.self, Title: "Votes of " + o.dao.Name, Updated: asOf, Author: o.dao.Name,
		Links: []atomLink{{"self", o.self}, {"alternate", o.site + address(pathDAO, o.dao.DAOID, nil)}},
	}
	for _, vote := range o.votes {
		summary := "Voting is " + string(vote.LifecycleStatus) + "; no end is stated."
		if vote.EndAt != nil {
			summary = "Voting is " + string(vote.LifecycleStatus) + " and ends " + vote.EndAt.Time().UTC().Format(time.RFC3339) + "."
		}
		feed.Entries = append(feed.Entries, atomEntry{
			ID: o.url(vote), Title: titled(vote.Title, vote.ProposalKey), Updated: o.changedAt(vote).Format(time.RFC3339), Link: atomLink{"alternate", o.url(vote)}, Summary: summary,
		})
	}
	text, err := xml.MarshalIndent(feed, "", " ")
	return append([]byte(xml.Header), append(text, '\n')...), err
}
