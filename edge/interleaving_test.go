package edge_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pnyx/access"
	"pnyx/test/env"
)

// fewSteps is the number of random steps, unless PNYX_TEST_EDGE_STEPS sets another.
const fewSteps = 3000

// walkers is the number of goroutines that take steps concurrently.
const walkers = 8

// callers is a node with callers of all kinds, and the responses that they must get.
type callers struct {
	*node

	partners []partner // with the whole scope, and months without an end
	small    partner
	poor     partner
	fickle   partner
	// revoked says whether the token of fickle is revoked. It changes only while no
	// request uses the token.
	revoked bool
	gate    sync.RWMutex
	reads   map[partner]*atomic.Int64 // answers that count
	bodies  sync.Map                  // ETag → title
	steps   atomic.Int64
}

// poorMonth is the monthly quota of the partner poor.
const poorMonth = 20

// TestConcurrentReadsAreAuthorizedAndCountedExactly sends requests of all kinds
// of callers in random order from several goroutines, while data is published and a
// token is revoked and restored.
func TestConcurrentReadsAreAuthorizedAndCountedExactly(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	c := &callers{node: n, reads: map[partner]*atomic.Int64{}}
	for range 3 {
		c.partners = append(c.partners, n.issue(1_000_000, access.V2All))
	}
	c.small, c.poor = n.issue(1_000_000, access.V2Standard), n.issue(poorMonth, access.V2Plus)
	c.fickle = n.issue(1_000_000, access.V2All)
	for _, p := range append([]partner{c.small, c.poor, c.fickle}, c.partners...) {
		c.reads[p] = &atomic.Int64{}
	}
	c.steps.Store(fewSteps)
	if text := os.Getenv("PNYX_TEST_EDGE_STEPS"); text != "" {
		c.steps.Store(env.Must(strconv.ParseInt(text, 10, 64))(t))
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var walking sync.WaitGroup
	for i := range walkers {
		walking.Go(func() {
			dice := rand.New(rand.NewPCG(seed, uint64(i)))
			for c.steps.Add(-1) >= 0 && !t.Failed() {
				c.step(dice)
			}
		})
	}
	walking.Wait()
	for who, reads := range c.reads {
		env.Want(t, reads.Load(), n.used(who), "a month", "used after", "answers that count")
	}
	if got := n.used(c.poor); got > poorMonth {
		t.Errorf("the poor one: got %d reads, want %d at the most", got, poorMonth)
	}
}

// step takes one random step: a request, a publication or a change of a token.
func (c *callers) step(dice *rand.Rand) {
	switch roll := dice.IntN(1000); {
	case roll < 10:
		c.publish(dice.IntN(len(keys)))
	case roll < 12:
		c.turn()
	default:
		c.ask(dice)
	}
}

// turn revokes the token of fickle, or restores it.
func (c *callers) turn() {
	c.gate.Lock()
	defer c.gate.Unlock()
	c.revoked = !c.revoked
	c.publishTokens(func(r access.Token) bool { return !c.revoked || r.ID != c.fickle.id })
	c.waitFor(c.fickle, map[bool]int{true: http.StatusUnauthorized, false: http.StatusOK}[c.revoked])
}

// visit is one request: its caller, and the statuses that are correct for it.
type visit struct {
	who     partner
	headers []string
	status  []int
}

func (c *callers) visit(dice *rand.Rand) visit {
	data := []int{http.StatusOK, http.StatusNotModified}
	as := func(p partner, status ...int) visit {
		return visit{p, []string{access.HeaderToken, p.token}, status}
	}
	switch dice.IntN(10) {
	case 0:
		return visit{partner{}, nil, []int{http.StatusPaymentRequired}}
	case 1:
		return visit{partner{}, []string{access.HeaderInternal, internalToken, "X-Edge-Fill", "x"}, []int{http.StatusPaymentRequired}}
	case 2:
		return as(partner{token: access.GenerateToken(access.NewTokenID())}, http.StatusUnauthorized)
	case 3:
		return as(c.small, http.StatusForbidden)
	case 4:
		return as(c.poor, http.StatusOK, http.StatusNotModified, http.StatusTooManyRequests)
	case 5, 6:
		if c.revoked {
			return as(c.fickle, http.StatusUnauthorized)
		}
		return as(c.fickle, data...)
	}
	return as(c.partners[dice.IntN(len(c.partners))], data...)
}

// ask requests a proposal and checks the response.
func (c *callers) ask(dice *rand.Rand) {
	c.gate.RLock()
	defer c.gate.RUnlock()
	which := dice.IntN(len(keys))
	v := c.visit(dice)
	if encoding := []string{"", "gzip", "br, gzip;q=0"}[dice.IntN(3)]; encoding != "" {
		v.headers = append(v.headers, "Accept-Encoding", encoding)
	}
	if held := c.held(dice, which); held != "" {
		v.headers = append(v.headers, "If-None-Match", held)
	}
	method := http.MethodGet
	if dice.IntN(20) == 0 {
		method = http.MethodHead
	}
	got, err := c.try(method, pathOf(which)+[]string{"", "?"}[dice.IntN(2)], v.headers...)
	if err != nil {
		c.Error(err)
		return
	}
	c.checkResponse(v, method, which, got)
}

// held returns the ETag that a caller sends for a response it may already have, if any.
func (c *callers) held(dice *rand.Rand, which int) string {
	if dice.IntN(4) != 0 {
		return ""
	}
	etag, _ := c.bodies.Load(which)
	text, _ := etag.(string)
	return text
}

// checkResponse checks a response against the statuses that are correct for its request, and
// its body against those seen before.
func (c *callers) checkResponse(v visit, method string, which int, got answer) {
	hasData := strings.Contains(got.body, "revision") || strings.Contains(got.body, "proposalKey")
	if !slices.Contains(v.status, got.status) || hasData != (got.status == http.StatusOK && method == http.MethodGet) {
		c.Errorf("%v: got %d %v %.300s, want one of %v", v.headers, got.status, got.header, got.body, v.status)
		return
	}
	if got.status == http.StatusOK {
		c.reads[v.who].Add(1) // of HEAD, too
	}
	if !hasData {
		return
	}
	if !strings.Contains(got.body, string(keys[which])) {
		c.Errorf("%s: got %.300s", keys[which], got.body)
	}
	etag, said := got.header.Get("ETag"), fmt.Sprint(which, revisionIn(got.body))
	if before, known := c.bodies.LoadOrStore(etag, said); known && before != said {
		c.Errorf("%s names %v, and %v", etag, before, said)
	}
	c.bodies.Store(which, etag)
}
