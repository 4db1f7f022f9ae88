package explore

import (
	"strings"

	"pnyx/api/param"
	"pnyx/governance"
)

// Bounds of the list of DAOs.
const (
	// daosPerPage is how many DAOs a page lists.
	daosPerPage = "50"
	// searchReads is how many pages of the directory a search reads, of searchPerRead DAOs
	// each. It goes on from there on request.
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
