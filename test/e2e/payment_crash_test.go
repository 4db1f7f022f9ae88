package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"pnyx/access/x402"
	"pnyx/test/env"
	"pnyx/test/facilitator"
)

// paidService is a pnyx that accepts payments, whose processes tests kill, but not Redis and facilitator.
type paidService struct {
	*instance

	ledger *facilitator.Ledger
	wallet *facilitator.Wallet
	// settings is the environment of every process.
	settings []string
	path     string
}

func startPaidService(t *testing.T) *paidService {
	t.Helper()
	env.RequireEngine(t)
	redis, ledger := env.Redis(t), facilitator.NewLedger(t)
	// Short, so that the lease of a killed process expires within the test.
	environ := append(ledger.Environ(), "REDIS_URL="+redis.URL, "PNYX_REQUEST_TIMEOUT=3s", "PNYX_CACHE_TIMEOUT=2s", "PNYX_LIMIT_TIMEOUT=2s",
		"X402_VERIFY_TIMEOUT=3s", "X402_SETTLE_TIMEOUT=1s")
	s := &paidService{
		instance: start(t, t.TempDir(), environ, "serve", "--demo").ready(),
		ledger:   ledger, wallet: facilitator.NewWallet(t), settings: environ,
	}
	var daos []struct{ DAOID string }
	env.Until(t, func() error {
		_, err := s.Read("/v2/daos?limit=1", &daos)
		return err
	})
	s.path = "/v2/daos/" + daos[0].DAOID + "/timeline?metric=votes_cast"
	return s
}

// restart starts a new process in place of a killed one.
func (s *paidService) restart() {
	s.TB.Helper()
	s.Kill()
	s.instance = start(s.TB, s.DataDir, s.settings, "serve").ready()
}

// pay sends a request with a payment.
func (s *paidService) pay(header string) (status int, body, receipt string, err error) {
	request, err := http.NewRequestWithContext(s.TB.Context(), http.MethodGet, s.URL+s.path, http.NoBody)
	if err != nil {
		return 0, "", "", err
	}
	if header != "" {
		request.Header.Set(x402.HeaderPayment, header)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if header == "" {
		return response.StatusCode, string(text), response.Header.Get(x402.HeaderRequired), err
	}
	return response.StatusCode, string(text), response.Header.Get(x402.HeaderReceipt), err
}

// payUntil sends a payment again until the facilitator was reached, and returns how the last one ended.
func (s *paidService) payUntil(reached <-chan struct{}, header string) error {
	for {
		_, body, _, err := s.pay(header)
		select {
		case <-reached:
			return errors.Join(err, errors.New(body))
		case <-s.TB.Context().Done():
			return s.TB.Context().Err()
		default:
		}
	}
}

// sign signs a payment for the path without sending it.
func (s *paidService) sign() string {
	s.TB.Helper()
	var challenge string
	env.Until(s.TB, func() error {
		status, body, required, err := s.pay("")
		if challenge = required; err == nil && challenge == "" {
			err = fmt.Errorf("got %d %s, want a challenge", status, body)
		}
		return err
	})
	return s.wallet.Pay(challenge).Header()
}

// wantAnsweredOnce sends a payment again until it is answered.
func (s *paidService) wantAnsweredOnce(header string) {
	s.TB.Helper()
	env.Until(s.TB, func() error {
		status, body, receipt, err := s.pay(header)
		if err != nil {
			return err
		}
		if status != http.StatusOK {
			return fmt.Errorf("%d %s", status, body)
		}
		var answer struct{ Data json.RawMessage }
		if json.Unmarshal([]byte(body), &answer) != nil || len(answer.Data) == 0 || receipt == "" {
			s.TB.Fatalf("got %s with receipt %q, want data and a receipt", body, receipt)
		}
		return nil
	})
	env.Want(s.TB, 1, len(s.ledger.Transfers()), "charges")
}

func TestProcessKilledDuringSettlementChargesOnce(t *testing.T) {
	t.Parallel()
	for name, charged := range map[string]bool{"before it is charged": false, "after it is charged": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startPaidService(t)
			header := s.sign()
			reached := make(chan struct{})
			s.ledger.Behave("settle", func(_ http.ResponseWriter, r *http.Request, honest func() any) {
				s.ledger.Behave("settle", nil)
				if charged {
					honest()
				}
				close(reached)
				<-r.Context().Done()
			})
			over, killed := make(chan error, 1), *s
			go func() { over <- killed.payUntil(reached, header) }()
			<-reached
			s.restart()
			if err := <-over; strings.Contains(err.Error(), `"data"`) {
				t.Fatalf("the killed process answered: %v", err)
			}
			s.wantAnsweredOnce(header)
			s.wantLedger()
		})
	}
}

// wantLedger checks the payments in the ledger.
func (s *paidService) wantLedger() {
	s.TB.Helper()
	hash := s.ledger.Transfers()[0].Hash
	env.Until(s.TB, func() error {
		out, status := env.Run(s.TB, s.Environ, "payments", "list", "--state", "settled")
		if status != 0 || !strings.Contains(out, hash) || !strings.Contains(out, "0.005") {
			return fmt.Errorf("status %d, want the transaction %s in:\n%s", status, hash, out)
		}
		return nil
	})
	out, status := env.Run(s.TB, s.Environ, "sql", "SELECT sum(amount) AS income FROM payment_ledger WHERE state = 'settled'", "--format", "csv")
	if status != 0 || !strings.Contains(out, "0.005") {
		s.TB.Errorf("status %d, want an income of 0.005:\n%s", status, out)
	}
}
