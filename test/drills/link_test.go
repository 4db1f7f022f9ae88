package drills

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"pnyx/test/env"
)

// link is a network between two processes, which tests disturb.
type link struct {
	tb    testing.TB
	proxy *toxiproxy.Proxy
}

// newLink creates a link to an address.
func newLink(tb testing.TB, to string) *link {
	tb.Helper()
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	l := &link{tb: tb, proxy: toxiproxy.NewProxy(server, to, "127.0.0.1:0", to)}
	l.open()
	tb.Cleanup(l.close)
	return l
}

// addr is the address of the near end.
func (l *link) addr() string { return l.proxy.Listen }

// open accepts connections again after close, at the same address.
func (l *link) open() {
	l.tb.Helper()
	env.MustDo(l.tb, l.proxy.Start())
}

// close breaks all connections, and refuses new ones.
func (l *link) close() { l.proxy.Stop() }

// delay delays what comes from the far end.
func (l *link) delay(by time.Duration) {
	l.spoil(fmt.Sprintf(`{"type":"latency","attributes":{"latency":%d,"jitter":%d}}`, by.Milliseconds(), by.Milliseconds()/5))
}

// swallow drops everything in both directions, and keeps connections open.
func (l *link) swallow() {
	l.spoil(`{"type":"timeout","stream":"upstream","attributes":{"timeout":0}}`)
	l.spoil(`{"type":"timeout","stream":"downstream","attributes":{"timeout":0}}`)
}

// mend removes all toxics.
func (l *link) mend() { l.proxy.Toxics.ResetToxics(l.tb.Context()) }

func (l *link) spoil(toxic string) {
	l.tb.Helper()
	if _, err := l.proxy.Toxics.AddToxicJson(strings.NewReader(toxic)); err != nil {
		l.tb.Error(err)
	}
}
