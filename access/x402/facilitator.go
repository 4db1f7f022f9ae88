package x402

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"pnyx/fetch"
	"pnyx/governance"
)

const maxVerdictBytes = 1 << 20

var (
	// errNotSent is a request that did not reach the facilitator: nothing was charged.
	errNotSent = errors.New("the facilitator was not reached")
	// errNoAnswer is a request without a usable answer: the payment may have been charged.
	errNoAnswer = errors.New("the facilitator gave no answer")
	errBroken   = errors.New("the connection failed")
)

type facilitator struct {
	Options

	// base is the address before a call's name; a query of it, as a key, stays behind.
	base           *url.URL
	client         *http.Client
	verifies       *breaker
	settles        *breaker
	now            func() time.Time
	observeRequest func(call string, began time.Time, err error)
}

type verdict struct {
	yes         bool
	reason      string
	transaction string
	// submitted means that the facilitator has submitted the transfer, whose outcome it does not know yet.
	submitted bool
}

func newFacilitator(o Options, observe func(string, time.Time, error), now func() time.Time) (*facilitator, error) {
	base, err := url.Parse(o.FacilitatorURL)
	if err != nil {
		return nil, fmt.Errorf("read the facilitator's address: %w", withoutURL(err))
	}
	return &facilitator{
		Options: o, base: base,
		client: &http.Client{
			CheckRedirect: fetch.RefuseRedirect,
			Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute},
		},
		verifies: newBreaker(now), settles: newBreaker(now), now: now, observeRequest: observe,
	}, nil
}

// verify asks whether a payment could be charged, again after a failed connection: verifying changes nothing.
func (f *facilitator) verify(ctx context.Context, p governance.Payment, vouched bool) (verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, f.VerifyTimeout)
	defer cancel()
	ask := func() (verdict, error) { return f.post(ctx, "verify", p.Settlement, readVerified) }
	reply, err := f.verifies.call(p.Payer, vouched, ask)
	if err != nil && isBroken(err) && ctx.Err() == nil {
		return f.verifies.call(p.Payer, vouched, ask)
	}
	return reply, err
}

// settle asks for a verified payment to be charged, again only if the transfer is reported as in progress.
func (f *facilitator) settle(ctx context.Context, p governance.Payment) (verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, f.SettleTimeout)
	defer cancel()
	ask := func() (verdict, error) { return f.post(ctx, "settle", p.Settlement, readSettled) }
	reply, err := f.settles.call(p.Payer, true, ask)
	if err == nil && reply.submitted {
		if again, err := f.settles.call(p.Payer, true, ask); err == nil {
			// A refusal of the repetition says nothing of the transfer that is under way.
			again.submitted, again.transaction = true, cmp.Or(again.transaction, reply.transaction)
			return again, nil
		}
	}
	return reply, err
}

// isBroken reports whether a connection failed, as opposed to a timeout.
func isBroken(err error) bool {
	return errors.Is(err, errBroken) && !errors.Is(err, context.DeadlineExceeded)
}

// post sends a request to the facilitator. The error is errNotSent or errNoAnswer.
func (f *facilitator) post(
	ctx context.Context, call string, body []byte, read func(answered []byte, good bool) (verdict, error),
) (reply verdict, err error) {
	began := time.Now()
	defer func() { f.observeRequest(call, began, err) }()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, f.base.JoinPath(call).String(), bytes.NewReader(body))
	if err != nil {
		return verdict{}, fmt.Errorf("%w: %w", errNotSent, withoutURL(err))
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := f.client.Do(request)
	if err != nil {
		if failed, is := errors.AsType[*net.OpError](err); is && failed.Op == "dial" {
			return verdict{}, fmt.Errorf("%w: %w: %w", errNotSent, errBroken, failed)
		}
		return verdict{}, fmt.Errorf("%w: %w: %w", errNoAnswer, errBroken, withoutURL(err))
	}
	defer response.Body.Close()
	answered, err := io.ReadAll(io.LimitReader(response.Body, maxVerdictBytes))
	if err != nil {
		return verdict{}, fmt.Errorf("%w: %w: %w", errNoAnswer, errBroken, err)
	}
	if response.StatusCode == http.StatusTooManyRequests {
		wait, _ := fetch.RetryAfter(response.Header, f.now(), maxBusyWait)
		return verdict{}, fmt.Errorf("%w: %w", errNotSent, &busyError{max(wait, defaultBusyWait)})
	}
	reply, err = read(answered, response.StatusCode/100 == 2)
	if err != nil {
		return verdict{}, fmt.Errorf("%w: %s: %w", errNoAnswer, response.Status, err)
	}
	return reply, nil
}

var errUnusable = errors.New("no verdict in the answer")

// readVerified parses an answer to verify. A refusal counts with any HTTP status, an approval only with 200.
func readVerified(answered []byte, good bool) (verdict, error) {
	var reply struct {
		IsValid       *bool  `json:"isValid"`
		InvalidReason string `json:"invalidReason"`
	}
	if err := json.Unmarshal(answered, &reply); err != nil || reply.IsValid == nil || *reply.IsValid && !good {
		return verdict{}, errUnusable
	}
	return verdict{yes: *reply.IsValid, reason: bounded(reply.InvalidReason, "unexpected_verify_error")}, nil
}

// readSettled parses an answer to settle. A success without the hash of a transaction is unusable; a
// refusal with one has submitted the transfer, whatever it says of waiting for it.
func readSettled(answered []byte, good bool) (verdict, error) {
	var reply struct {
		Success     *bool  `json:"success"`
		ErrorReason string `json:"errorReason"`
		Transaction string `json:"transaction"`
	}
	if err := json.Unmarshal(answered, &reply); err != nil || reply.Success == nil {
		return verdict{}, errUnusable
	}
	if !wordForm.MatchString(reply.Transaction) {
		reply.Transaction = ""
	}
	if *reply.Success && (!good || reply.Transaction == "") {
		return verdict{}, errUnusable
	}
	return verdict{
		yes: *reply.Success, reason: bounded(reply.ErrorReason, "unexpected_settle_error"), transaction: reply.Transaction,
		submitted: !*reply.Success && (reply.ErrorReason == reasonPending || reply.Transaction != ""),
	}, nil
}

// maxReasonBytes bounds a reason: it goes into headers, which proxies bound.
const maxReasonBytes = 200

// bounded returns a reason of a facilitator, or the protocol's code where it gives none.
func bounded(reason, none string) string {
	return cmp.Or(governance.Shorten(strings.ToValidUTF8(reason, ""), maxReasonBytes), none)
}
