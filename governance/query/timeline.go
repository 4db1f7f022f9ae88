package query

// Month is a calendar month in UTC, as YYYY-MM.
type Month string

// TimelineMetric is what a timeline counts by month: one of governance.TimelineMetrics.
type TimelineMetric string

// Timeline selects months of one DAO's timeline.
type Timeline struct {
	DAOID  string         `param:"daoId" in:"path" doc:"The DAO." example:"uniswap"`
	Metric TimelineMetric `param:"metric" required:"true" doc:"What to count." example:"votes_cast"`
	From   Month          `param:"fromMonth" doc:"First month; the first with a value when left out." example:"2026-01"`
	To     Month          `param:"toMonth" doc:"Last month, included; the last with a value when left out." example:"2026-06"`
}
