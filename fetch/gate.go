package fetch

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// maxLimited bounds how long a host may forbid requests: a header may say a month.
	maxLimited = 10 * time.Minute
	// minLimited is the pause after a refusal that states none. It doubles unless manyPassed requests have
	// passed since the pause before: where a few do, the host may refuse one kind of request alone.
	minLimited = 5 * time.Second
	manyPassed = 10
)

// gate lets requests to one host pass at its pace, and none while the host forbids them.
type gate struct {
	client *Client
	host   string
	// large is the place for an answer above freeBodyBytes.
	large chan struct{}

	mu    sync.Mutex
	pace  *rate.Limiter
	until time.Time
	// refusals counts the pauses in a row that no answer stated, passed the accepted requests since the last of them.
	refusals, passed int
	stated           *Allowance
}

// setPace changes how often the host may be asked.
func (g *gate) setPace(p Pace) {
	g.mu.Lock()
	defer g.mu.Unlock()
	limit := rate.Limit(float64(p.Requests) / p.Per.Seconds())
	if g.pace == nil {
		g.pace = rate.NewLimiter(limit, max(p.Burst, 1))
		return
	}
	now := g.client.Clock.Now()
	g.pace.SetLimitAt(now, limit)
	g.pace.SetBurstAt(now, max(p.Burst, 1))
}

// pass waits for the turn of a request. It returns a *LimitedError while the host forbids requests, or the end of
// ctx.
func (g *gate) pass(ctx context.Context) error {
	now := g.client.Clock.Now()
	if err := g.limited(now); err != nil {
		return err
	}
	turn := g.pace.ReserveN(now, 1)
	if pause := turn.DelayFrom(now); pause > 0 {
		if err := g.client.Clock.Wait(ctx, pause); err != nil {
			turn.CancelAt(g.client.Clock.Now())
			return err
		}
	}
	// An answer in the meantime may have closed the gate.
	return g.limited(g.client.Clock.Now())
}

func (g *gate) limited(now time.Time) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now.Before(g.until) {
		return &LimitedError{Host: g.host, Until: g.until}
	}
	return nil
}

// note closes the gate for as long as an answer asks for, by its headers, or by what it said of a limit. It returns a
// *LimitedError if the answer is a refusal for that reason.
func (g *gate) note(ctx context.Context, answer Response, accepted bool, said string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.client.Clock.Now()
	spent, reset := g.state(now, answer.Header)
	pause, stated := RetryAfter(answer.Header, now, maxLimited)
	limited := answer.Status == http.StatusTooManyRequests || said != ""
	switch {
	case limited && !stated && reset > 0:
		pause = reset
	case limited && !stated && !accepted:
		if now.Before(g.until) { // it was sent before the gate was closed
			return &LimitedError{Host: g.host, Until: g.until, Said: said}
		}
		if g.passed >= manyPassed {
			g.refusals = max(g.refusals-1, 0)
		}
		pause = minLimited << min(g.refusals, 8)
		g.refusals, g.passed = g.refusals+1, 0
	case limited, answer.Status == http.StatusServiceUnavailable:
	default:
		if pause = 0; !now.Before(g.until) {
			g.passed++
		}
		// Some requests pass while others are refused: only a while without a refusal counts.
		if now.Sub(g.until) >= minLimited<<min(g.refusals, 8) {
			g.refusals = 0
		}
	}
	if spent {
		pause = max(pause, reset)
	}
	if pause <= 0 {
		return nil
	}
	until := now.Add(min(pause, maxLimited))
	if !now.Before(g.until) {
		g.client.Logger.LogAttrs(ctx, slog.LevelWarn, "upstream allows no more requests for a while",
			slog.String("host", g.host), slog.Time("until", until))
	}
	if until.After(g.until) {
		g.until = until
	}
	return &LimitedError{Host: g.host, Until: g.until, Said: said}
}

// state keeps what the headers say of the limit: whether nothing is left, and the time until it is renewed.
func (g *gate) state(now time.Time, header http.Header) (spent bool, reset time.Duration) {
	for _, prefix := range []string{"X-Api-Key-", "Ratelimit-", "X-Ratelimit-"} {
		remaining, err := strconv.ParseInt(strings.TrimSpace(header.Get(prefix+"Remaining")), 10, 64)
		if err != nil || remaining < 0 {
			continue
		}
		limit, _ := strconv.ParseInt(strings.TrimSpace(header.Get(prefix+"Limit")), 10, 64) // 0 where it is not stated
		reset = resetIn(header.Get(prefix+"Reset"), now)
		// The first answer of a window may still count requests of the one before, whose end is stated in whole seconds.
		renewed := g.stated != nil && limit > 1 && !now.Before(g.stated.ResetAt.Add(-time.Second)) &&
			now.Add(reset).After(g.stated.ResetAt.Add(time.Second))
		g.stated = &Allowance{Host: g.host, Limit: limit, Remaining: remaining, ResetAt: now.Add(reset)}
		g.client.metrics.remaining.WithLabelValues(g.host).Set(float64(remaining))
		return remaining == 0 && !renewed, reset
	}
	return false, 0
}

func (g *gate) allowance() (stated Allowance, known bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stated == nil {
		return Allowance{}, false
	}
	return *g.stated, true
}

// RetryAfter reads Retry-After: seconds, or a date in any zone. A pause is at most a bound.
func RetryAfter(header http.Header, now time.Time, most time.Duration) (pause time.Duration, stated bool) {
	text := strings.TrimSpace(header.Get("Retry-After"))
	// A number that is too large for a float is infinite.
	if seconds, err := strconv.ParseFloat(text, 64); (err == nil || errors.Is(err, strconv.ErrRange)) && seconds >= 0 {
		return time.Duration(min(seconds, most.Seconds()) * float64(time.Second)), true
	}
	for _, layout := range []string{http.TimeFormat, time.RFC1123, time.RFC1123Z, time.RFC850, time.ANSIC, time.RFC3339} {
		if at, err := time.Parse(layout, text); err == nil {
			return min(max(at.Sub(now), 0), most), true
		}
	}
	return 0, false
}

// resetIn reads the reset of a limit: seconds from now, or since 1970. It is 0 for anything else.
func resetIn(text string, now time.Time) time.Duration {
	const firstTimestamp = 1e9 // no window lasts thirty years
	seconds, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err == nil && seconds >= firstTimestamp {
		seconds -= float64(now.UnixMilli()) / 1000
	}
	if err != nil || !(seconds > 0) { // NaN is not above 0
		return 0
	}
	return time.Duration(min(seconds, maxLimited.Seconds()) * float64(time.Second))
}
