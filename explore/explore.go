// Package explore serves pages for people at /explore: what is going on, the DAOs, one DAO, one proposal with
// the course of its vote, and one voter. A page is HTML from the server with charts in SVG.
//
// A page reads routes through api.Reader, so that each is counted, limited and priced as
// over HTTP. What its visitor may not read is a box that says what it costs. The number of
// requests that a page makes is bounded, and stated on the page.
package explore

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"strings"

	"github.com/gofiber/fiber/v2"

	"pnyx/api"
	"pnyx/api/apierror"
	"pnyx/api/routes"
	"pnyx/page"
)

// Paths of the pages.
const (
	// Path shows what is going on, and finds DAOs, proposals and voters.
	Path = api.PathExplore

	pathDAOs     = Path + "/daos"
	pathDAO      = Path + "/daos/:daoId"
	pathProposal = Path + "/proposals/:proposalKey"
	pathVoter    = Path + "/voters/:voterIdentity"
	pathOther    = Path + "/*"

	pathStyle  = Path + "/explore.css"
	pathScript = Path + "/explore.js"
)

// RouteName is the name of all pages in metrics and logs of requests.
const RouteName = "explore"

//go:embed files
var files embed.FS

// Options configures the pages.
type Options struct {
	Node   *api.API
	Prices routes.Prices
	// PublicURL is the address that callers see; empty for the one that a request was sent to.
	PublicURL string
}

// explorer answers requests to Path and below. It is safe for concurrent use.
type explorer struct {
	Options

	templates map[string]*template.Template // by view
	routes    map[string]routes.Route       // by id
}

// Documents returns the files that the pages load, for api.Options.
func Documents() []api.Document { return page.Files(files, "files", pathStyle, pathScript) }

// Patterns returns the paths of all pages, with parameters as routes have them.
func Patterns() []string {
	return []string{Path, pathDAOs, pathDAO, pathCalendar, pathFeed, pathProposal, pathVoter}
}

// Mount has a node answer Path and below.
func Mount(o Options) error {
	x := &explorer{Options: o, templates: map[string]*template.Template{}, routes: map[string]routes.Route{}}
	for _, route := range routes.All() {
		x.routes[route.ID] = route
	}
	for _, view := range []string{viewHome, viewDAOs, viewDAO, viewProposal, viewVoter, viewError} {
		parsed, err := page.New(files, functions(), "files/parts.html", "files/dossier.html", "files/"+view+".html")
		if err != nil {
			return fmt.Errorf("explore: %w", err)
		}
		x.templates[view] = parsed
	}
	x.Node.MountPages(pathCalendar, RouteName, x.feedHandler("text/calendar; charset=utf-8", renderCalendar))
	x.Node.MountPages(pathFeed, RouteName, x.feedHandler("application/atom+xml; charset=utf-8", renderFeed))
	for _, one := range []struct {
		path string
		show func(*visit) (shown, error)
	}{
		{Path, showFirst},
		{pathDAOs, showDAOs},
		{pathDAO, showDAO},
		{pathProposal, showProposal},
		{pathVoter, showVoter},
		{pathOther, showOther}, // last: it matches all
	} {
		o.Node.MountPages(one.path, RouteName, x.handler(one.show))
	}
	return nil
}

// Views, and the templates that show them.
const (
	viewHome     = "home"
	viewDAOs     = "daos"
	viewDAO      = "dao"
	viewProposal = "proposal"
	viewVoter    = "voter"
	viewError    = "error"
)

type shown struct {
	// view is the template, which gets data.
	view               string
	data               any
	title, description string
}

func (x *explorer) handler(show func(*visit) (shown, error)) fiber.Handler {
	return func(c *fiber.Ctx) error {
		if strings.HasSuffix(c.Path(), "/") {
			return c.Redirect(strings.TrimRight(c.Path(), "/"), http.StatusMovedPermanently)
		}
		v := &visit{explorer: x, c: c, known: api.HasCredentials(c)}
		result, err := show(v)
		var failed *apierror.Error
		if err != nil {
			if failed, _ = errors.AsType[*apierror.Error](err); failed == nil {
				return err
			}
			result = x.errorPage(failed, x.Node.NewReader(c).RequestID())
		}
		text, err := page.Render(x.templates[result.view], page.Page{
			Title: result.title, Description: result.description, Path: Path,
			Styles: []string{pathStyle}, Scripts: []string{pathScript},
			Data: content{result.data, v.footnote()},
		})
		if err != nil {
			return fmt.Errorf("explore: %w", err)
		}
		return api.SendHTML(c, api.HTML{Text: text, Header: headers(), Error: failed})
	}
}

type content struct {
	Data     any
	Footnote footnote
}

// headers returns the headers of all pages, whose form for searching is sent to this server.
func headers() map[string]string {
	all := maps.Clone(page.Header())
	policy := fiber.HeaderContentSecurityPolicy
	all[policy] = strings.Replace(all[policy], "form-action 'none'", "form-action 'self'", 1)
	return all
}

// crumb is a step on the way to a page.
type crumb struct {
	// Text names it, and Href is its address; empty for the page itself.
	Text, Href string
}

func (x *explorer) errorPage(failed *apierror.Error, requestID string) shown {
	titles := map[int]string{http.StatusNotFound: "Not found", http.StatusBadRequest: "The address is wrong"}
	title := cmp.Or(titles[failed.Status], "Something went wrong")
	return shown{view: viewError, title: title, description: title, data: map[string]any{
		"Code": failed.Code, "Message": apierror.Sentence(failed.Message), "Fix": x.advice(failed), "RequestID": requestID,
		"Title": title, "Trail": []crumb{{Text: title}},
	}}
}

// showOther answers paths below Path that are no pages.
func showOther(v *visit) (shown, error) {
	return shown{}, v.explorer.Node.Refuse(v.c, apierror.New(http.StatusNotFound, apierror.CodeNotFound, nil, "there is no such page"))
}
