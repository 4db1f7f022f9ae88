package webhook

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"pnyx/fetch"
	"pnyx/test/env"
	"pnyx/warehouse/accounts"
)

func endpointAt(url string) accounts.Webhook {
	return accounts.Webhook{ID: "wh_test", URL: url, Types: []string{"*"}, Secret: NewSecret()}
}

func dialerTo(t *testing.T, addresses ...netip.Addr) *net.Dialer {
	t.Helper()
	server := env.Must(net.ListenPacket("udp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { server.Close() })
	go func() {
		packet := make([]byte, 512)
		for {
			n, from, err := server.ReadFrom(packet)
			if err != nil {
				return
			}
			if answer, err := resolve(packet[:n], addresses); err == nil {
				_, _ = server.WriteTo(answer, from)
			}
		}
	}()
	return &net.Dialer{Resolver: &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", server.LocalAddr().String())
	}}}
}

func resolve(query []byte, addresses []netip.Addr) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil {
		return nil, err
	}
	m.Response, m.Authoritative, m.Additionals = true, true, nil
	question := m.Questions[0]
	head := dnsmessage.ResourceHeader{Name: question.Name, Type: question.Type, Class: question.Class}
	for _, address := range addresses {
		switch {
		case question.Type == dnsmessage.TypeA && address.Is4():
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AResource{A: address.As4()}})
		case question.Type == dnsmessage.TypeAAAA && address.Is6():
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AAAAResource{AAAA: address.As16()}})
		}
	}
	return m.Pack()
}

func TestAttackNameOfAPrivateAddressIsNotConnectedTo(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.100.100.200", "168.63.129.16", "0.0.0.0",
		"224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fd00:ec2::254", "ff02::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254",
		"::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::a00:1", "2002:7f00:1::", "2001:0:4136:e378:8000:63bf:3fff:fdd2",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			address := netip.MustParseAddr(text)
			// A name leads there, whatever it led to when it was checked.
			env.MustDo(t, NewSender(false).CheckURL("https://receiver.example/hook"))
			sender := newSender(false, dialerTo(t, address), nil)
			_, _, err := sender.post(t.Context(), endpointAt("https://receiver.example/hook"), message{"evt_1", TestType, []byte("{}")}, time.Now())
			env.WantError(t, errNotPublic, err, "by name")
			literal := "https://" + netip.AddrPortFrom(address, 443).String() + "/hook"
			env.WantError(t, errNotPublic, NewSender(false).CheckURL(literal), literal)
		})
	}
}

func TestAttackNameOfAPublicAndAPrivateAddressIsConnectedToAtThePublicOne(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ first, second string }{
		{"10.1.2.3", "8.8.8.8"},
		{"8.8.8.8", "169.254.169.254"},
		{"::1", "8.8.8.8"},
		{"8.8.8.8", "fd00:ec2::254"},
		{"127.0.0.1", "2606:4700:4700::1111"},
		{"2606:4700:4700::1111", "fe80::1"},
	} {
		t.Run(test.first+" "+test.second, func(t *testing.T) {
			t.Parallel()
			dialer := dialerTo(t, netip.MustParseAddr(test.first), netip.MustParseAddr(test.second))
			sender := newSender(false, dialer, nil)
			// What would be connected to is noted, and refused: the next address is tried.
			errNoted := errors.New("noted")
			var mu sync.Mutex
			var connected, refused []string
			check := dialer.Control
			dialer.Control = func(network, address string, conn syscall.RawConn) error {
				err := check(network, address, conn)
				mu.Lock()
				defer mu.Unlock()
				if errors.Is(err, errNotPublic) {
					refused = append(refused, address)
					return err
				}
				connected = append(connected, address)
				return errNoted
			}
			_, _, err := sender.post(t.Context(), endpointAt("https://receiver.example/hook"), message{"evt_1", TestType, []byte("{}")}, time.Now())
			if !errors.Is(err, errNoted) && !errors.Is(err, errNotPublic) {
				t.Errorf("got %v, want both addresses tried", err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, address := range connected {
				if !fetch.IsPublic(netip.MustParseAddrPort(address).Addr()) {
					t.Errorf("a connection to %s was allowed", address)
				}
			}
			if len(connected) != 1 || len(refused) != 1 {
				t.Errorf("got connections to %v, without those to %v, want one of each", connected, refused)
			}
		})
	}
}

func TestAttackAddressOfAReceiver(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		url             string
		public, private bool
	}{
		{"https://acme.example.com/hook?key=1", true, true},
		{"https://acme.example.com:443/", true, true},
		{"https://acme.example.com:8443/", false, true},
		{"https://acme.example.com:6379/", false, true},
		{"http://acme.example.com/", false, true},
		{"http://127.0.0.1:9000/", false, true},
		{"https://[::1]/", false, true},
		{"https://[fe80::1%25eth0]/", false, true},
		{"https://user:secret@acme.example.com/", false, false},
		{"https://acme.example.com/#part", false, false},
		{"https:///path", false, false},
		{"https:acme.example.com", false, false},
		{"ftp://acme.example.com/", false, false},
		{"file:///etc/passwd", false, false},
		{"gopher://127.0.0.1:6379/_FLUSHALL", false, false},
		{"", false, false},
		{"https://acme.example.com/" + strings.Repeat("a", maxURL), false, false},
	} {
		t.Run(test.url[:min(len(test.url), 40)], func(t *testing.T) {
			t.Parallel()
			if err := NewSender(false).CheckURL(test.url); (err == nil) != test.public {
				t.Errorf("public: got %v, want accepted %v", err, test.public)
			}
			if err := NewSender(true).CheckURL(test.url); (err == nil) != test.private {
				t.Errorf("private: got %v, want accepted %v", err, test.private)
			}
		})
	}
}

func TestAttackRedirectLeadsNowhere(t *testing.T) {
	t.Parallel()
	inner := newInbox(t, nil)
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			in := newInbox(t, func(w http.ResponseWriter, r *http.Request, _ int) { http.Redirect(w, r, inner.URL, status) })
			attempt := NewSender(true).send(t.Context(), endpointAt(in.URL), message{"evt_1", TestType, []byte("{}")}, time.Now())
			if attempt.Status != uint16(status) || attempt.Error != "redirects are not followed" || len(inner.messages()) != 0 {
				t.Errorf("got status %d, error %q, %d messages elsewhere, want a failure", attempt.Status, attempt.Error, len(inner.messages()))
			}
		})
	}
}

func TestAttackAnswerWithoutEnd(t *testing.T) {
	t.Parallel()
	in := newInbox(t, func(w http.ResponseWriter, r *http.Request, _ int) {
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 4096)); err != nil {
				return
			}
		}
	})
	attempt := NewSender(true).send(t.Context(), endpointAt(in.URL), message{"evt_1", TestType, []byte("{}")}, time.Now())
	if attempt.Error != "" || attempt.Status != http.StatusOK {
		t.Errorf("got status %d, error %q, want 200: the rest is not read", attempt.Status, attempt.Error)
	}
}

// TestAttackAnswerThatIsCompressed answers with 64 MiB in some kilobytes, though nothing
// compressed was asked for: they are not decompressed.
func TestAttackAnswerThatIsCompressed(t *testing.T) {
	t.Parallel()
	var bomb bytes.Buffer
	zipped := gzip.NewWriter(&bomb)
	env.Must(zipped.Write(make([]byte, 64<<20)))(t)
	env.MustDo(t, zipped.Close())
	asked := make(chan string, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Header.Get("Accept-Encoding")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(bomb.Bytes())
	}))
	defer receiver.Close()
	attempt := NewSender(true).send(t.Context(), endpointAt(receiver.URL), message{"m", "t", []byte("{}")}, time.Now())
	if attempt.Error != "" || attempt.Status != http.StatusOK {
		t.Errorf("got %d %s, want 200", attempt.Status, attempt.Error)
	}
	env.Want(t, "", <-asked, "Accept-Encoding")
}

func TestReceiverThatHangsIsCutOff(t *testing.T) {
	t.Parallel()
	in := newInbox(t, func(w http.ResponseWriter, r *http.Request, earlier int) {
		if earlier > 0 { // it accepts, and never ends its answer
			w.WriteHeader(http.StatusAccepted)
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
	})
	sender := NewSender(true)
	env.Want(t, 15*time.Second, sender.client.Timeout, "time limit")
	sender.client.Timeout = 50 * time.Millisecond
	attempt := sender.send(t.Context(), endpointAt(in.URL), message{"evt_1", TestType, []byte("{}")}, time.Now())
	if attempt.Status != 0 || !strings.Contains(attempt.Error, "exceeded") {
		t.Errorf("got status %d, error %q, want a timeout", attempt.Status, attempt.Error)
	}
	attempt = sender.send(t.Context(), endpointAt(in.URL), message{"evt_2", TestType, []byte("{}")}, time.Now())
	if attempt.Status != http.StatusAccepted || attempt.Error != "" {
		t.Errorf("got status %d, error %q, want it accepted", attempt.Status, attempt.Error)
	}
}

func TestCertificateIsVerified(t *testing.T) {
	t.Parallel()
	in := &inbox{}
	server := httptest.NewTLSServer(in)
	t.Cleanup(server.Close)
	trusted := x509.NewCertPool()
	trusted.AddCert(server.Certificate())
	m := message{"evt_1", TestType, []byte("{}")}
	env.WantPart(t, "certificate", NewSender(true).send(t.Context(), endpointAt(server.URL), m, time.Now()).Error, "a certificate that is not trusted")
	sender := newSender(true, &net.Dialer{}, &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12})
	env.Want(t, "", sender.send(t.Context(), endpointAt(server.URL), m, time.Now()).Error, "it accepted")
	env.Want(t, 1, len(in.messages()), "messages")
}

func TestLargeMessageIsNotSentAndHoldsNoneUp(t *testing.T) {
	t.Parallel()
	in := newInbox(t, nil)
	d := &Deliverer{Options: Options{Sender: NewSender(true), Now: time.Now}}
	due := dueMessage{accounts.Delivery{QueuedAt: time.Now()}, messageBody{text: make([]byte, maxBody+1)}}
	got := (&term{Deliverer: d}).newReceiver(endpointAt(in.URL)).attempt(t.Context(), due)
	if !strings.Contains(got.attempt.Error, "at most") || got.delivery.State != accounts.MessageExpired || len(in.messages()) != 0 {
		t.Errorf("got %q, %s and %d messages, want it refused for good", got.attempt.Error, got.delivery.State, len(in.messages()))
	}
}

// verify has the reference implementation of Standard Webhooks check a message.
func verify(t *testing.T, secret string, m received) string {
	t.Helper()
	if _, err := os.Stat("npm/node_modules/.package-lock.json"); err != nil {
		t.Skip("no node_modules: make npm")
	}
	input := env.Must(json.Marshal(map[string]any{
		"secret": secret, "body": string(m.Body),
		"headers": map[string]string{"webhook-id": m.ID, "webhook-timestamp": m.Timestamp, "webhook-signature": m.Signature},
	}))(t)
	command := exec.CommandContext(t.Context(), "node", "verify.mjs")
	command.Dir, command.Stdin = "npm", bytes.NewReader(input)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("node: %v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// Receivers that read headers in Latin-1 have another text than was signed.
func TestIDsOfAnyTextAreSignedAsTheyAreSent(t *testing.T) {
	t.Parallel()
	in := newInbox(t, nil)
	e, now := endpointAt(in.URL), time.Now()
	ids := []string{"e1_U7zKFhGy4mbg2WmO51terg", "harbor-exec 17/ü", " 17 "}
	for _, id := range ids {
		NewSender(true).send(t.Context(), e, message{id, TestType, []byte("{}")}, now)
	}
	want := []string{ids[0], "harbor-exec%2017%2F%C3%BC", "%2017%20"}
	for i, got := range in.messages() {
		env.Want(t, want[i], got.ID, "id")
		env.Want(t, env.Must(signatures(e, want[i], now, got.Body))(t), got.Signature, "signature")
	}
}

func TestReferenceVerifierAcceptsOurSignaturesAlone(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts node, which -short leaves out")
	}
	in := newInbox(t, nil)
	e := endpointAt(in.URL)
	before := e.Secret
	e.PreviousSecret, e.PreviousUntil, e.Secret = before, time.Now().Add(time.Hour), NewSecret()
	sender := NewSender(true)
	env.Must(sender.Test(t.Context(), e, time.Now()))(t)
	e.PreviousUntil = time.Now().Add(-time.Second)
	env.Must(sender.Test(t.Context(), e, time.Now()))(t)
	rotating, rotated := in.messages()[0], in.messages()[1]
	changed := rotating
	changed.Body = append(bytes.Clone(rotating.Body), ' ')
	renamed := rotating
	renamed.ID += "x"
	const accepted, refused = "accepted", "No matching signature found"
	for _, test := range []struct {
		name, secret string
		message      received
		want         string
	}{
		{"by the new secret", e.Secret, rotating, accepted},
		{"by the secret before, in the overlap", before, rotating, accepted},
		{"by the new secret, after the overlap", e.Secret, rotated, accepted},
		{"by the secret before, after the overlap", before, rotated, refused},
		{"by another secret", NewSecret(), rotating, refused},
		{"with a changed body", e.Secret, changed, refused},
		{"with another id", e.Secret, renamed, refused},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			env.Want(t, test.want, verify(t, test.secret, test.message))
		})
	}
}

func TestPausesBetweenAttempts(t *testing.T) {
	t.Parallel()
	for failures, want := range map[uint32]time.Duration{
		1: 5 * time.Second, 2: 5 * time.Minute, 3: 30 * time.Minute, 4: 2 * time.Hour, 5: 5 * time.Hour, 6: 10 * time.Hour, 7: 10 * time.Hour, 20: 10 * time.Hour,
	} {
		if got := pauseAfter(failures); got < want || got > want*11/10 {
			t.Errorf("after %d failures: got %v, want %v and up to a tenth more", failures, got, want)
		}
	}
}

func TestTypesOfMessages(t *testing.T) {
	t.Parallel()
	for _, patterns := range [][]string{{"*"}, {"event.*", "signal.*"}, {"event.voting_ended"}} {
		if err := CheckTypes(patterns); err != nil {
			t.Errorf("%v: got %v, want it accepted", patterns, err)
		}
	}
	for _, patterns := range [][]string{{""}, {"voting_ended"}, {"event.voting_*"}, {"event.*", "signal.nothing"}} {
		if err := CheckTypes(patterns); err == nil {
			t.Errorf("%v: got no error", patterns)
		}
	}
	e := accounts.Webhook{Types: []string{"signal.*", "event.voting_ended"}}
	for messageType, want := range map[string]bool{"signal.a": true, "event.voting_ended": true, "event.voting_ended_early": false, "event.created": false, TestType: false} {
		env.Want(t, want, e.Wants(messageType, "dao"), messageType)
	}
}
