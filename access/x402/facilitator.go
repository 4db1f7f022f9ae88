package x402

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/sony/gobreaker/v2"
)

const (
	// maxVerdictBytes bounds what a facilitator may answer.
	maxVerdictBytes = 1 << 20
	// breakerThreshold is how many consecutive requests fail before the circuit breaker
	// opens, and breakerTimeout how long it stays open.
	breakerThreshold = 5
	breakerTimeout   = 10 * time.Second
)

// transactionForm is the hash of a transaction.
var transactionForm = regexp.MustCompile(`^0x[0-9a-fA-F]{64}$`)

// Errors of a facilitator.
var (
	// errNotSent is a request that did not reach the facilitator: nothing was done.
	errNotSent = errors.New("the facilitator was not reached")
	// errNoAnswer is a request that got no usable answer: nobody knows what was done.
	errNoAnswer = errors.New("the facilitator gave no answer")
)

// facilitator checks payments and submits them to the chain.
type facilitator struct {
	base           string
	client         *http.Client
	verifyTimeout  time.Duration
	settleTimeout  time.Duration
	verifies       *gobreaker.CircuitBreaker[verdict]
	settles        *gobreaker.CircuitBreaker[verdict]
	observeRequest func(call string, began time.Time, err error)
}

// verdict is what a facilitator said of a payment.
type verdict struct {
	yes         bool
	reason      string
	transaction string
}

func newFacilitator(o Options, observe func(string, time.Time, error)) *facilitator {
	return &facilitator{
		base: strings.TrimSuffix(o.FacilitatorURL, "/"),
		client: &http.Client{
			// A redirected POST would become a GET, or reach somebody else.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute},
		},
		verifyTimeout: o.VerifyTimeout, settleTimeout: o.SettleTimeout,
		verifies: newBreaker("verify"), settles: newBreaker("settle"),
		observeRequest: observe,
	}
}

func newBreaker(name string) *gobreaker.CircuitBreaker[verdict] {
	return gobreaker.NewCircuitBreaker[verdict](gobreaker.Settings{
		Name: name, Timeout: breakerTimeout,
		ReadyToTrip: func(counts gobreaker.Counts) bool { return counts.ConsecutiveFailures >= breakerThreshold },
	})
}

// settling reports whether the breaker lets settlements through. While it does not, no
// response is built that could not be charged.
func (f *facilitator) settling() bool {
	return f.settles.State() != gobreaker.StateOpen
}

// verify asks whether a payment could be charged. It is asked again, once, when
// the connection broke: nothing changes by asking.
func (f *facilitator) verify(ctx context.Context, settlement []byte) (verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, f.verifyTimeout)
	defer cancel()
	ask := func() (verdict, error) { return f.post(ctx, "verify", settlement, readVerified) }
	said, err := through(f.verifies, ask)
	if err != nil && isBroken(err) && ctx.Err() == nil {
		return through(f.verifies, ask)
	}
	return said, err
}

// settle has a payment charged. It is asked again, once, only where the
// facilitator itself says that the transfer is under way.
func (f *facilitator) settle(ctx context.Context, settlement []byte) (verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, f.settleTimeout)
	defer cancel()
	ask := func() (verdict, error) { return f.post(ctx, "settle", settlement, readSettled) }
	said, err := through(f.settles, ask)
	if err == nil && said.reason == reasonPending {
		if again, err := through(f.settles, ask); err == nil {
			return again, nil
		}
	}
	return said, err
}

// through asks unless the breaker is open.
func through(breaker *gobreaker.CircuitBreaker[verdict], ask func() (verdict, error)) (verdict, error) {
	said, err := breaker.Execute(ask)
	if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
		return verdict{}, fmt.Errorf("%w: %w", errNotSent, err)
	}
	return said, err
}

// isBroken says whether a connection failed, rather than being slow.
func isBroken(err error) bool {
	if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	_, isNet := errors.AsType[net.Error](err)
	return isNet || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// post asks the facilitator. The error is errNotSent or errNoAnswer.
func (f *facilitator) post(
	ctx context.Context, call string, body []byte, read func(answered []byte, good bool) (verdict, error),
) (said verdict, err error) {
	began := time.Now()
	defer func() { f.observeRequest(call, began, err) }()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, f.base+"/"+call, bytes.NewReader(body))
	if err != nil {
		return verdict{}, fmt.Errorf("%w: %w", errNotSent, err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := f.client.Do(request)
	if err != nil {
		if failed, is := errors.AsType[*net.OpError](err); is && failed.Op == "dial" {
			return verdict{}, fmt.Errorf("%w: %w", errNotSent, err)
		}
		return verdict{}, fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	defer response.Body.Close()
	answered, err := io.ReadAll(io.LimitReader(response.Body, maxVerdictBytes))
	if err != nil {
		return verdict{}, fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	if response.StatusCode == http.StatusTooManyRequests {
		return verdict{}, fmt.Errorf("%w: %s", errNotSent, response.Status)
	}
	said, err = read(answered, response.StatusCode/100 == 2)
	if err != nil {
		return verdict{}, fmt.Errorf("%w: %s: %w", errNoAnswer, response.Status, err)
	}
	return said, nil
}

// errUnusable is an answer that says neither yes nor no.
var errUnusable = errors.New("no verdict in the answer")

// readVerified reads an answer to verify. A no counts whatever the status; a yes
// only with a good one.
func readVerified(answered []byte, good bool) (verdict, error) {
	var said struct {
		IsValid       *bool  `json:"isValid"`
		InvalidReason string `json:"invalidReason"`
	}
	if err := json.Unmarshal(answered, &said); err != nil || said.IsValid == nil || *said.IsValid && !good {
		return verdict{}, errUnusable
	}
	return verdict{yes: *said.IsValid, reason: said.InvalidReason}, nil
}

// readSettled reads an answer to settle. A yes without the hash of a transaction is
// none.
func readSettled(answered []byte, good bool) (verdict, error) {
	var said struct {
		Success     *bool  `json:"success"`
		ErrorReason string `json:"errorReason"`
		Transaction string `json:"transaction"`
	}
	if err := json.Unmarshal(answered, &said); err != nil || said.Success == nil {
		return verdict{}, errUnusable
	}
	if *said.Success && (!good || !transactionForm.MatchString(said.Transaction)) {
		return verdict{}, errUnusable
	}
	return verdict{yes: *said.Success, reason: said.ErrorReason, transaction: said.Transaction}, nil
}
