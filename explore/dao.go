package explore

import (
	"strconv"

	"pnyx/api/param"
	"pnyx/governance"
)

const (
	argName     = "name"
	argCursor   = "cursor"
	argLimit    = "limit"
	argMetric   = "metric"
	argDAO      = "daoId"
	argProposal = "proposalKey"
	argVoter    = "voterIdentity"
)

// daoPage is what the page of one DAO shows. It reads at most five routes.
type daoPage struct {
	Trail    []crumb
	DAO      governance.DAODetail
	Outcomes []bar
	// Timeline is a metric by month, Metric its name, and Months its drawing.
	Timeline part[governance.Timeline]
	Metric   string
	Months   []bar
	// OtherMetric is the metric that Other shows instead.
	OtherMetric, Other string
	// Proposals is a page of its proposals, the last updated first, and Next the address of the next page.
	Proposals part[[]governance.ProposalListItem]
	Next      string
	// First says that there is no page before this one.
	First bool
	// Voters and Delegates are the first by power; only the first page has them.
	Voters    part[[]governance.DAOVoter]
	Delegates part[[]governance.Delegate]
}

func showDAO(v *visit) (shown, error) {
	id, err := v.param(argDAO)
	if err != nil {
		return shown{}, err
	}
	query, err := v.query(
		param.Param{Name: argCursor, Kind: param.Cursor},
		param.Param{Name: argMetric, Kind: param.Enum, Enum: governance.TimelineMetrics(), Default: governance.VotesCast},
	)
	if err != nil {
		return shown{}, err
	}
	dao, err := loadMain[governance.DAODetail](v, "daos.detail", texts{argDAO: id})
	if err != nil {
		return shown{}, err
	}
	data := daoPage{Trail: []crumb{{Text: dao.Data.Name}}, DAO: dao.Data, Outcomes: outcomes(dao.Data.Outcomes), Metric: query[argMetric], First: query[argCursor] == ""}
	data.Proposals, err = load[[]governance.ProposalListItem](v, "proposals.list", with(query, argDAO, id, argMetric, ""))
	if err != nil {
		return shown{}, err
	}
	if next := data.Proposals.Next; next != "" {
		data.Next = address(pathDAO, id, texts{argCursor: next})
	}
	if data.First {
		if err := data.loadFirst(v, id); err != nil {
			return shown{}, err
		}
	}
	return shown{view: viewDAO, data: data, title: dao.Data.Name, description: "Proposals, votes and voters of " + dao.Data.Name + "."}, nil
}

func (p *daoPage) loadFirst(v *visit, id string) (err error) {
	if p.Timeline, err = load[governance.Timeline](v, "daos.timeline", texts{argDAO: id, argMetric: p.Metric}); err != nil {
		return err
	}
	for _, bucket := range p.Timeline.Data.Buckets {
		p.Months = append(p.Months, bar{Label: bucket.Month, Value: bucket.Value})
	}
	p.Months = columns(p.Months)
	for _, metric := range governance.TimelineMetrics() {
		if metric != p.Metric {
			p.OtherMetric, p.Other = metric, address(pathDAO, id, texts{argMetric: metric})
		}
	}
	first := texts{argDAO: id, argLimit: "10"}
	if p.Voters, err = load[[]governance.DAOVoter](v, "daos.voters", first); err != nil {
		return err
	}
	p.Delegates, err = load[[]governance.Delegate](v, "daos.delegates", first)
	return err
}

func outcomes(o governance.Outcomes) []bar {
	count := func(n uint64) governance.Decimal { return governance.Decimal(strconv.FormatUint(n, 10)) }
	return stack([]bar{
		{Label: "passed", Class: "passed", Value: count(o.Passed)},
		{Label: "executed", Class: "executed", Value: count(o.Executed)},
		{Label: "failed", Class: "failed", Value: count(o.Failed)},
		{Label: "canceled", Class: "canceled", Value: count(o.Canceled)},
		{Label: "unknown", Class: "unknown", Value: count(o.Unknown)},
	})
}
