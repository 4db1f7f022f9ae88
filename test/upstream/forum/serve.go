package forum

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"time"
)

// cacheTTL is how long an anonymous answer is kept.
const cacheTTL = time.Minute

// cached is an anonymous answer.
type cached struct {
	body  []byte
	until time.Time
}

// ServeHTTP answers as the forum would.
func (f *Forum) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests[r.URL.Path]++
	s := f.switches
	switch {
	case s.Rebuilding:
		http.Error(w, "<html><body>502 Bad Gateway</body></html>", http.StatusBadGateway)
		return
	case s.Challenge != 0:
		w.Header().Set("Content-Type", "text/html; charset=UTF-8")
		w.WriteHeader(s.Challenge)
		fmt.Fprint(w, "<!DOCTYPE html><title>Just a moment...</title>")
		return
	case s.MovedTo != "":
		http.Redirect(w, r, s.MovedTo+r.URL.RequestURI(), http.StatusMovedPermanently) //nolint:gosec // a fake goes where its test says
		return
	}
	if f.refused(w, r) {
		return
	}
	if !s.Cached || r.Header.Get("Api-Key") != "" {
		f.serve(w, r)
		return
	}
	key := r.URL.RequestURI() + " " + r.Header.Get("Accept")
	if held, found := f.cached[key]; found && f.now().Before(held.until) {
		w.Header().Set("X-Discourse-Cached", "true")
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = w.Write(held.body) // a client that left needs nothing
		return
	}
	made := httptest.NewRecorder()
	f.serve(made, r)
	if made.Code == http.StatusOK {
		f.cached[key] = cached{bytes.Clone(made.Body.Bytes()), f.now().Add(cacheTTL)}
		w.Header().Set("X-Discourse-Cached", "store")
	}
	maps.Copy(w.Header(), made.Header())
	w.WriteHeader(made.Code)
	_, _ = w.Write(made.Body.Bytes()) // a client that left needs nothing
}

func (f *Forum) serve(w http.ResponseWriter, r *http.Request) {
	body, location, err := answers{f}.answer(r)
	var failed failure
	switch {
	case errors.As(err, &failed):
		answers{f}.write(w, failed.status, object{"errors": []string{"The requested URL or resource could not be found."}, "error_type": failed.kind})
	case location != "":
		http.Redirect(w, r, location, http.StatusMovedPermanently) //nolint:gosec // to its own topic
	default:
		answers{f}.write(w, http.StatusOK, body)
	}
}

// window is a limit of requests.
type window struct {
	requests int
	per      time.Duration
	code     string
}

// refused answers 429 where a client is over a limit. A refused request counts too.
func (f *Forum) refused(w http.ResponseWriter, r *http.Request) bool {
	client, windows := f.limits(r)
	now := f.now()
	times := append(f.clients[client], now)
	f.clients[client] = times[max(0, len(times)-maxTimes):]
	for _, limit := range windows {
		if limit.requests == 0 || len(times) <= limit.requests {
			continue
		}
		wait := limit.per - now.Sub(times[len(times)-1-limit.requests])
		if wait <= 0 {
			continue
		}
		text := "Slow down, you're making too many requests."
		if limit.code == "" {
			text = fmt.Sprintf("Too many crawling requests. Allowed %d per %s.", limit.requests, limit.per)
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
		w.Header().Set("Discourse-Rate-Limit-Error-Code", limit.code)
		w.WriteHeader(http.StatusTooManyRequests)
		fmt.Fprint(w, text)
		return true
	}
	return false
}

// maxTimes is how many times of requests a limit looks at.
const maxTimes = 256

// limits returns who asks and the limits that apply.
func (f *Forum) limits(r *http.Request) (client string, windows []window) {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	switch {
	case f.switches.CrawlerRequests > 0 && crawlers().MatchString(r.UserAgent()):
		return "crawler " + r.UserAgent(), []window{{f.switches.CrawlerRequests, time.Minute, ""}}
	case !f.switches.Limited:
		return "unlimited", nil
	case r.Header.Get("User-Api-Key") != "":
		return "user", []window{{20, time.Minute, "user_api_key_limiter_60_secs"}}
	case r.Header.Get("Api-Key") != "":
		return "admin", []window{{60, time.Minute, "admin_api_key_rate_limit"}}
	}
	return host, []window{{50, 10 * time.Second, "ip_10_secs_limit"}, {200, time.Minute, "ip_60_secs_limit"}}
}

func crawlers() *regexp.Regexp { return regexp.MustCompile(`(?i)bot|crawl|spider|curl|^$`) }
