package query_test

import (
	"testing"
	"time"

	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/check"
)

func TestAWindowWithOneEndIsAYearLong(t *testing.T) {
	t.Parallel()
	at := governance.TimestampOf(time.Date(2026, time.July, 1, 0, 0, 0, 0, time.UTC))
	yearBefore := governance.TimestampOf(at.Time().AddDate(-1, 0, 0))
	yearAfter := governance.TimestampOf(at.Time().AddDate(1, 0, 0))
	for name, c := range map[string]struct{ given, want query.Proposals }{
		"no window has no time": {query.Proposals{Time: query.ProposalEndAt}, query.Proposals{}},
		"only an end":           {query.Proposals{Time: query.ProposalEndAt, To: &at}, query.Proposals{Time: query.ProposalEndAt, From: &yearBefore, To: &at}},
		"only a beginning": {
			query.Proposals{Time: query.ProposalEndAt, From: &at},
			query.Proposals{Time: query.ProposalEndAt, From: &at, To: &yearAfter},
		},
		"both ends": {
			query.Proposals{Time: query.ProposalEndAt, From: &yearBefore, To: &yearAfter},
			query.Proposals{Time: query.ProposalEndAt, From: &yearBefore, To: &yearAfter},
		},
	} {
		check.WantSame(t, name, c.want, c.given.Canonical())
	}
}

func TestSpellingsOfOneSearchAreEqual(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ one, other query.Resolve }{
		"title":       {query.Resolve{Title: " Deploy  UNISWAP v4"}, query.Resolve{Title: "deploy uniswap v4 "}},
		"external id": {query.Resolve{ExternalID: "0xAB"}, query.Resolve{ExternalID: " 0xab"}},
		"url": {
			query.Resolve{URL: "https://snapshot.org/#/uniswap/proposal/0xab"},
			query.Resolve{URL: "http://www.snapshot.org/#/uniswap/proposal/0xab/"},
		},
		"limit": {query.Resolve{Title: "a", Limit: 1}, query.Resolve{Title: "a", Limit: query.MaxCandidates}},
	} {
		check.WantSame(t, name, c.one.Canonical(), c.other.Canonical())
	}
}

// Workers and nodes both make queries canonical, some of them twice.
func FuzzCanonicalResolveStaysAsItIs(f *testing.F) {
	f.Add("https://snapshot.org/#/uniswap/proposal/0xAB", "Deploy  V4", "0xAB")
	f.Add("HTTP://forum.example:80/t/a/1?u=b#c", "ＡﬁΣς", " 0X1 ")
	f.Fuzz(func(t *testing.T, url, title, id string) {
		once := query.Resolve{URL: url, Title: title, ExternalID: id}.Canonical()
		check.WantSame(t, "canonical query made canonical", once, once.Canonical())
	})
}

func TestAPageHoldsEveryLimit(t *testing.T) {
	t.Parallel()
	for limit, want := range map[int]int{
		1: query.ShortPage, query.ShortPage: query.ShortPage, query.ShortPage + 1: query.LongPage, query.LongPage: query.LongPage,
	} {
		check.Want(t, want, query.PageSize(limit), "rows of a page of", limit)
	}
}
