package forum

import (
	"context"
	"fmt"
	"time"

	"pnyx/fetch"
	"pnyx/follow"
)

// about is what a forum says of itself; older versions name the counts in the singular.
type about struct {
	Title   string `json:"title"`
	Version string `json:"version"`
	Stats   struct {
		Topics    fetch.Count `json:"topics_count"`
		OldTopics fetch.Count `json:"topic_count"`
		Posts     fetch.Count `json:"posts_count"`
		OldPosts  fetch.Count `json:"post_count"`
		Young     fetch.Count `json:"topics_30_days"`
		LastWeek  fetch.Count `json:"posts_7_days"`
	} `json:"stats"`
}

func (a about) topics() uint64 { return uint64(max(a.Stats.Topics, a.Stats.OldTopics)) }

func (f *Forum) about(ctx context.Context) (about, error) {
	var said struct {
		About *about `json:"about"`
	}
	_, err := f.get(ctx, "/about.json", &said)
	switch {
	case err != nil:
		return about{}, err
	case said.About == nil:
		return about{}, fmt.Errorf("answer of %s to /about.json %w", f.Name, errNoForum)
	}
	return *said.About, nil
}

// maxStated bounds the counts that an estimate believes.
const maxStated = 100_000_000

// Check implements follow.Upstream.
func (f *Forum) Check(ctx context.Context) []follow.Check {
	check := follow.Check{Source: f.Name, Limit: "200 requests a minute for an address"}
	if f.Key != "" {
		check.Limit = "60 requests a minute for the keys of all administrators"
	}
	stated, err := f.about(ctx)
	if err != nil {
		check.Problem, check.Silent = err.Error(), true
		return []follow.Check{check}
	}
	check.Is = fmt.Sprintf("Discourse %s forum %q, %d topics, %d posts",
		stated.Version, stated.Title, stated.topics(), max(stated.Stats.Posts, stated.Stats.OldPosts))
	const day = 24 * 60 * 60
	polls := day/int(logInterval.Seconds()) + day/int(watchInterval.Seconds()) + day/int(categoriesInterval.Seconds())
	if f.AddressField != "" {
		polls += 24 * (1 + 2*directoryPages)
		if _, err := f.addressField(ctx); err != nil {
			check.Problem = err.Error()
		}
	}
	const perPage = 30
	young, lastWeek := int(min(stated.Stats.Young, maxStated)), int(min(stated.Stats.LastWeek, maxStated))
	check.RequestsPerDay = polls + int(min(stated.topics(), maxStated)/perPage) + 1 + young*int(sweepAfter/youngAfter)
	// On a busy day a week's posts arrive, each in a topic that is fetched for it.
	check.RequestsPerDayBusy = check.RequestsPerDay + lastWeek
	check.Backfill = time.Duration(1+min(stated.topics(), maxStated)/perPage) * f.Host.Interval()
	return []follow.Check{check}
}
