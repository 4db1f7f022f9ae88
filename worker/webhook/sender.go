package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"pnyx/fetch"
	"pnyx/warehouse/accounts"
)

const (
	// sendTimeout bounds one attempt, from the resolution of the name to the end of the answer.
	sendTimeout = 15 * time.Second
	// connectTimeout bounds the connection and, once more, TLS.
	connectTimeout = 5 * time.Second
	// maxAnswer bounds what is read of an answer, and of its headers.
	maxAnswer = 16 << 10
	maxBody   = 256 << 10
	// maxURL and maxError bound an address, and the text of an error in the log.
	maxURL     = 2048
	maxError   = 300
	publicPort = "443"
)

var errNotPublic = errors.New("its address is not public")

// Sender posts messages to receivers.
type Sender struct {
	client *http.Client
	// private allows receivers at private addresses, on any port, and without TLS.
	private bool
}

// NewSender returns a Sender. Unless private is set, it connects to public addresses only, with TLS at port 443: an
// address is checked once it is resolved, so that no name leads past the check.
func NewSender(private bool) *Sender { return newSender(private, &net.Dialer{}, nil) }

func newSender(private bool, dialer *net.Dialer, trust *tls.Config) *Sender {
	dialer.Timeout = connectTimeout
	if !private {
		dialer.Control = refusePrivate
	}
	return &Sender{private: private, client: &http.Client{
		Timeout: sendTimeout,
		// Without a proxy: it would be the proxy's address that is checked.
		Transport: &http.Transport{
			DialContext: dialer.DialContext, ForceAttemptHTTP2: true, TLSClientConfig: trust,
			TLSHandshakeTimeout: connectTimeout, MaxResponseHeaderBytes: maxAnswer,
			// What is read of an answer is what was sent: its text is of no use.
			DisableCompression: true,
			MaxIdleConns:       256, MaxIdleConnsPerHost: 4, IdleConnTimeout: 30 * time.Second,
		},
		CheckRedirect: fetch.RefuseRedirect,
	}}
}

func refusePrivate(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !fetch.IsPublic(at.Addr()) {
		return errNotPublic
	}
	return nil
}

// CheckURL returns an error if text is no address of a receiver. What it resolves to is checked at each connection.
func (s *Sender) CheckURL(text string) error {
	parsed, err := url.Parse(text)
	switch {
	case err != nil, parsed.Hostname() == "", len(text) > maxURL:
		return fmt.Errorf("want an https:// address of at most %d bytes", maxURL)
	case parsed.User != nil, parsed.Fragment != "":
		return errors.New("want an address without user, password and fragment")
	case s.private:
		if parsed.Scheme != "https" && parsed.Scheme != "http" {
			return errors.New("want an https:// or http:// address")
		}
		return nil
	case parsed.Scheme != "https":
		return errors.New("want an https:// address; PNYX_WEBHOOK_RECEIVERS=private allows http:// too")
	case parsed.Port() != "" && parsed.Port() != publicPort:
		return fmt.Errorf("want port %s; PNYX_WEBHOOK_RECEIVERS=private allows all", publicPort)
	}
	if address, err := netip.ParseAddr(parsed.Hostname()); err == nil && !fetch.IsPublic(address) {
		return fmt.Errorf("%w; PNYX_WEBHOOK_RECEIVERS=private allows it", errNotPublic)
	}
	return nil
}

type message struct {
	id   string // the header webhook-id, the same in each attempt
	kind string
	body []byte // JSON
}

// sending is an attempt, with how long the receiver asks to be left alone; zero for not.
type sending struct {
	accounts.WebhookAttempt
	pause time.Duration
}

func (s *Sender) send(ctx context.Context, e accounts.Webhook, m message, now time.Time) sending {
	began := time.Now()
	status, header, err := s.post(ctx, e, m, now)
	attempt := sending{WebhookAttempt: accounts.WebhookAttempt{
		EndpointID: e.ID, MessageID: m.id, MessageType: m.kind, At: now, Status: uint16(status), //nolint:gosec // three digits
		DurationMS: uint32(time.Since(began).Milliseconds()), //nolint:gosec // at most sendTimeout
	}}
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		attempt.pause = askedPause(header, now)
	}
	switch {
	case err != nil:
		attempt.Error = err.Error()[:min(len(err.Error()), maxError)]
	case status >= 300 && status < 400:
		attempt.Error = "redirects are not followed"
	case status < 200 || status >= 300:
		attempt.Error = "answered " + strconv.Itoa(status)
	}
	return attempt
}

func (s *Sender) post(
	ctx context.Context, e accounts.Webhook, m message, now time.Time,
) (status int, header http.Header, err error) {
	if len(m.body) > maxBody {
		return 0, nil, fmt.Errorf("the message has %d bytes, at most %d are sent", len(m.body), maxBody)
	}
	if err := s.CheckURL(e.URL); err != nil {
		return 0, nil, err
	}
	id := m.id
	if strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) {
		id = url.PathEscape(id) // receivers read other text of a header in several ways, and sign what they read
	}
	signed, err := signatures(e, id, now, m.body)
	if err != nil {
		return 0, nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL, bytes.NewReader(m.body))
	if err != nil {
		return 0, nil, fmt.Errorf("make a request: %w", err)
	}
	request.Header = http.Header{
		"Content-Type": {"application/json"}, "User-Agent": {"pnyx-webhook/1"},
		"Webhook-Id": {id}, "Webhook-Timestamp": {strconv.FormatInt(now.Unix(), 10)}, "Webhook-Signature": {signed},
	}
	answer, err := s.client.Do(request)
	if err != nil {
		// The address is the endpoint's, which the log is of.
		if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		return 0, nil, err
	}
	defer answer.Body.Close()
	// The answer is read so that the connection can be used again; the status counts even if the rest is cut off.
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, maxAnswer))
	return answer.StatusCode, answer.Header, nil
}

const (
	// secretPrefix begins each secret, and signatureVersion each signature, as in Standard Webhooks.
	secretPrefix     = "whsec_"
	signatureVersion = "v1,"
	secretBytes      = 32
	idLength         = 16
)

// NewID returns a random id of an endpoint.
func NewID() string { return "wh_" + strings.ToLower(rand.Text()[:idLength]) }

// NewSecret returns a random secret.
func NewSecret() string {
	key := make([]byte, secretBytes)
	_, _ = rand.Read(key) // never fails
	return secretPrefix + base64.StdEncoding.EncodeToString(key)
}

// signatures returns the header of a message: signed by the secret, and by the previous one while that is valid.
func signatures(e accounts.Webhook, id string, now time.Time, body []byte) (string, error) {
	secrets := []string{e.Secret}
	if e.PreviousSecret != "" && now.Before(e.PreviousUntil) {
		secrets = append(secrets, e.PreviousSecret)
	}
	var signed []string
	for _, secret := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, secretPrefix))
		if err != nil {
			return "", fmt.Errorf("read the secret of webhook %s: %w", e.ID, err)
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + strconv.FormatInt(now.Unix(), 10) + "."))
		mac.Write(body)
		signed = append(signed, signatureVersion+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return strings.Join(signed, " "), nil
}
