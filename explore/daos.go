package explore

import (
	"errors"
	"net/http"
	"regexp"
	"strings"

	"pnyx/api/apierror"
	"pnyx/api/param"
	"pnyx/governance"
)

const (
	daosPerPage = "50"
	// searchReads is how many pages of searchPerRead DAOs a search reads before it goes on upon request.
	searchReads   = 10
	searchPerRead = "100"
	// maxFound ends a search.
	maxFound = 100
)

type daosPage struct {
	// Name is what was searched for; empty for all DAOs.
	Name string
	// Found is what else the first page of a search has.
	Found found
	DAOs  []governance.DAOListItem
	// Searched is how many DAOs were looked at by a search.
	Searched int
	// Next is the address of the next page; empty on the last one.
	Next string
	// First says that there is no page before this one.
	First bool
}

// showFirst shows what is going on, or DAOs where the address asks for some.
func showFirst(v *visit) (shown, error) {
	if len(v.c.Request().URI().QueryString()) == 0 {
		return showHome(v)
	}
	return showDAOs(v)
}

func showDAOs(v *visit) (shown, error) {
	query, err := v.query(
		param.Param{Name: argName, Kind: param.Text},
		param.Param{Name: argCursor, Kind: param.Cursor},
	)
	if err != nil {
		return shown{}, err
	}
	data := daosPage{Name: query[argName], First: query[argCursor] == ""}
	cursor, reads, limit := query[argCursor], 1, daosPerPage
	if data.Name != "" {
		reads, limit = searchReads, searchPerRead
	}
	for range reads {
		listed, err := loadMain[[]governance.DAOListItem](v, "daos.list", with(nil, argCursor, cursor, argLimit, limit))
		if err != nil {
			return shown{}, err
		}
		data.Searched += len(listed.Data)
		for _, dao := range listed.Data {
			if isNamed(dao, data.Name) {
				data.DAOs = append(data.DAOs, dao)
			}
		}
		if cursor = listed.Next; cursor == "" || len(data.DAOs) >= maxFound {
			break
		}
	}
	if data.Name != "" && data.First {
		if data.Found, err = find(v, data.Name); err != nil {
			return shown{}, err
		}
	}
	if cursor != "" {
		data.Next = address(Path, "", with(nil, argName, data.Name, argCursor, cursor))
	}
	return shown{view: viewDAOs, data: data, title: "DAOs", description: "Decentralized organizations, their proposals and votes."}, nil
}

// isNamed reports whether the name or id of a DAO contains a text, whatever its case.
func isNamed(dao governance.DAOListItem, text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(strings.ToLower(dao.Name), text) || strings.Contains(strings.ToLower(dao.DAOID), text)
}

// voterAddress is an identity that a search looks up as a voter.
var voterAddress = regexp.MustCompile(`^0x(?:[0-9a-f]{40}|[0-9a-f]{64})$`)

// found is what a text names besides DAOs. At most one paid route is read for it.
type found struct {
	// Proposal is the key that the text is, and Voter the voter whose address it is; empty for none.
	Proposal governance.ProposalKey
	Voter    string
	// Titled are proposals with the text in their titles; nil for a key, an address or a short text.
	Titled *part[[]governance.ProposalListItem]
}

// find finds proposals and voters. Without credentials an address is a voter whether it has voted or not.
func find(v *visit, text string) (f found, err error) {
	const titlesFound = "20" // how many proposals a search by title shows
	if key, err := governance.ParseProposalKey(text); err == nil {
		return found{Proposal: key}, nil
	}
	if voter := governance.VoterIdentity(text); voterAddress.MatchString(voter) {
		profile, err := load[governance.VoterProfile](v, "voters.profile", texts{argVoter: voter})
		if err == nil && (profile.Box == nil || profile.Box.err == nil || profile.Box.err.Status != http.StatusNotFound) {
			f.Voter = voter
		}
		return f, err
	}
	titled, err := load[[]governance.ProposalListItem](v, "proposals.list", texts{"q": text, argLimit: titlesFound})
	if failed, is := errors.AsType[*apierror.Error](err); is && failed.Status == http.StatusBadRequest { // it is too short
		return f, nil
	}
	return found{Titled: &titled}, err
}
