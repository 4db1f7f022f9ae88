package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

const maxRedirects = 5

// newHTTPClient returns a client that reaches the configured host of a request wherever it is, and other hosts, to
// which it is redirected, at public addresses only. connect bounds the connection and, once more, TLS; header the
// time to the first byte of the answer; total all, with the body.
func newHTTPClient(connect, header, total time.Duration) *http.Client {
	return &http.Client{
		Timeout:       total,
		Transport:     router{configured: newTransport(connect, header, nil), others: newTransport(connect, header, refusePrivate)},
		CheckRedirect: checkRedirect,
	}
}

func newTransport(connect, header time.Duration, control func(network, address string, _ syscall.RawConn) error) *http.Transport {
	dialer := &net.Dialer{Timeout: connect, Control: control}
	return &http.Transport{
		DialContext: dialer.DialContext, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: connect, ResponseHeaderTimeout: header,
		MaxIdleConnsPerHost: 4, MaxConnsPerHost: 16, IdleConnTimeout: 90 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

// configuredHost is the key of a context value: the host that a request was meant for.
type configuredHost struct{}

// router keeps the connections to other hosts apart: no redirect of one upstream reaches a private address that
// the configuration allows for another.
type router struct {
	configured, others *http.Transport
}

// RoundTrip implements http.RoundTripper.
func (r router) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Host == request.Context().Value(configuredHost{}) {
		return r.configured.RoundTrip(request)
	}
	return r.others.RoundTrip(request)
}

// errRedirected reports an answer that leads where no request goes.
var errRedirected = errors.New("is redirected")

// checkRedirect refuses redirects in a loop and from https to http, and sends no keys to other hosts.
func checkRedirect(next *http.Request, before []*http.Request) error {
	first := before[0].URL
	switch {
	case len(before) > maxRedirects:
		return fmt.Errorf("%w more than %d times", errRedirected, maxRedirects)
	case next.URL.Scheme != "https" && next.URL.Scheme != first.Scheme:
		return fmt.Errorf("%w from https to http", errRedirected)
	case next.URL.Host != first.Host:
		for name := range next.Header {
			if !slices.Contains([]string{"User-Agent", "Accept", "Content-Type"}, name) {
				next.Header.Del(name)
			}
		}
		next.URL.User = nil
	}
	return nil
}

// refusePrivate refuses a connection to an address that is not public. By then, the name is resolved.
func refusePrivate(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !IsPublic(at.Addr()) {
		return fmt.Errorf("%w to an address that is not public", errRedirected)
	}
	return nil
}

// IsPublic reports whether an address belongs to the internet. IPv4 within IPv6 counts as IPv4, or as not public.
func IsPublic(address netip.Addr) bool {
	address = address.Unmap().WithZone("") // no network contains an address with a zone
	return address.IsGlobalUnicast() && !address.IsPrivate() && (address.Is4() || netip.MustParsePrefix(globalUnicast).Contains(address)) &&
		!slices.ContainsFunc(specialNetworks(), func(network string) bool { return netip.MustParsePrefix(network).Contains(address) })
}

// globalUnicast holds all IPv6 addresses of the internet, without the addresses of translators (RFC 6052, RFC 7915).
const globalUnicast = "2000::/3"

// specialNetworks are those that net/netip does not know: of this host, of carriers, of protocols, of documentation and
// tests, reserved, with IPv4 within IPv6, and where Azure's machines reach their host.
func specialNetworks() []string {
	return []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15",
		"198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4", "168.63.129.16/32",
		"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
	}
}

// outcomeOf returns the outcome of a request without an answer.
func outcomeOf(ctx context.Context, err error) string {
	switch {
	case errors.Is(err, ErrTooLarge):
		return outcomeTooLarge
	case ctx.Err() != nil:
		return outcomeCanceled
	}
	return outcomeConnection
}

// RefuseRedirect keeps an [http.Client] at its host: a redirected POST would become a GET, and a secret or a request
// could reach another host.
func RefuseRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
