package routes

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"pnyx/api/apierror"
	"pnyx/api/httpcache"
	"pnyx/api/param"
	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
)

func timelineRoutes() []Route {
	return []Route{
		handleChecked(Route{
			ID: "daos.timeline", Path: "/v2/daos/:daoId/timeline", Tier: governance.Plus,
			Title:   "Get a DAO's timeline",
			Summary: "A metric of one DAO by month.",
			Returns: governance.Timeline{}, Fresh: httpcache.Published(),
		}, (*Backend).timeline, checkMonths),
	}
}

// timeline answers GET /v2/daos/:daoId/timeline. A bound left out is the first or last month with a bucket, from
// which the other one may be too far.
func (b *Backend) timeline(ctx context.Context, r *Request, q query.Timeline) (Answer, error) {
	var timeline governance.Timeline
	view, err := b.view(ctx, cache.TimelineKey(q.DAOID, string(q.Metric)), &timeline, r.missing())
	if err != nil {
		return Answer{}, err
	}
	cut := query.Timeline{From: q.From, To: q.To}
	if buckets := timeline.Buckets; len(buckets) > 0 {
		cut.From, cut.To = cmp.Or(q.From, query.Month(buckets[0].Month)), cmp.Or(q.To, query.Month(buckets[len(buckets)-1].Month))
	}
	if problems := checkMonths(cut); q.From+q.To != "" && cut.From < cut.To && problems != nil {
		problems[0].Given = string(q.To) // empty for the last month, which the caller did not give
		return Answer{}, apierror.Validation(problems, 0)
	}
	timeline.Buckets = cutTimeline(timeline.Buckets, string(cut.From), string(cut.To))
	return Answer{Data: timeline, View: view, Source: httpcache.SourceRedis}, nil
}

// cutTimeline returns the buckets of the months between two, both included; zero for months without one.
func cutTimeline(buckets []governance.TimelineBucket, from, to string) []governance.TimelineBucket {
	cut := []governance.TimelineBucket{}
	if from == "" || to == "" {
		return cut
	}
	values := map[string]governance.Decimal{}
	for _, bucket := range buckets {
		values[bucket.Month] = bucket.Value
	}
	first, _ := time.Parse(param.MonthLayout, from) // a month of a bucket, or one that was parsed
	for i := range monthsBetween(from, to) + 1 {
		month := first.AddDate(0, i, 0).Format(param.MonthLayout)
		cut = append(cut, governance.TimelineBucket{Month: month, Value: cmp.Or(values[month], "0")})
	}
	return cut
}

// checkMonths rejects a range that is reversed or longer than maxTimelineMonths.
func checkMonths(q query.Timeline) []param.Problem {
	const maxTimelineMonths = 240 // the maximum number of months that one request may span
	from, to := string(q.From), string(q.To)
	if from == "" || to == "" {
		return nil
	}
	switch span := monthsBetween(from, to); {
	case span < 0:
		return []param.Problem{{Parameter: "fromMonth", Given: from, Message: "is after toMonth", Allowed: "a month up to toMonth"}}
	case span >= maxTimelineMonths:
		return []param.Problem{{
			Parameter: "toMonth", Given: to, Message: fmt.Sprintf("is %d months from fromMonth", span+1),
			Allowed: fmt.Sprintf("at most %d months, both included", maxTimelineMonths),
		}}
	}
	return nil
}

func monthsBetween(from, to string) int {
	a, errA := time.Parse(param.MonthLayout, from)
	b, errB := time.Parse(param.MonthLayout, to)
	if errA != nil || errB != nil {
		return 0
	}
	return (b.Year()-a.Year())*12 + int(b.Month()) - int(a.Month())
}
