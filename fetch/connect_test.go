package fetch_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"pnyx/fetch"
	"pnyx/test/check"
)

func TestARedirectWithinTheHostIsFollowedWithItsKeys(t *testing.T) {
	t.Parallel()
	f := serve(t, "", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/old" {
			http.Redirect(w, r, "/new", http.StatusMovedPermanently)
			return
		}
		fmt.Fprint(w, r.URL.Path, r.Header.Get("Api-Key"))
	})
	answer, err := f.host.Do(t.Context(), fetch.Request{Method: http.MethodGet, Path: "/old", Header: http.Header{"Api-Key": {"k"}}})
	if err != nil || string(answer.Body) != "/newk" {
		t.Errorf("got %s, %v, want the answer of /new with the key", answer.Body, err)
	}
}

func TestAttackRedirectsToPrivateAddressesAreRefused(t *testing.T) {
	t.Parallel()
	var reached atomic.Int64
	private := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(private.Close)
	for name, target := range map[string]string{
		"this machine":       private.URL,
		"by name":            strings.Replace(private.URL, "127.0.0.1", "localhost", 1),
		"IPv4 within IPv6":   strings.Replace(private.URL, "127.0.0.1", "[::ffff:127.0.0.1]", 1),
		"metadata of clouds": "http://169.254.169.254/latest/meta-data",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := serve(t, "", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, target, http.StatusFound) })
			// That another upstream is configured there opens no way.
			f.at(t, private.URL)
			_, err := f.get(t.Context())
			if err == nil || !strings.Contains(err.Error(), "not public") || reached.Load() != 0 {
				t.Errorf("got %v and %d requests, want a refusal", err, reached.Load())
			}
		})
	}
}

func TestARedirectLoopEnds(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	f := serve(t, "", func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		http.Redirect(w, r, "/", http.StatusFound)
	})
	if _, err := f.get(t.Context()); err == nil || !strings.Contains(err.Error(), "more than 5 times") || requests.Load() != 6 {
		t.Errorf("got %v after %d requests, want an end after 5 redirects", err, requests.Load())
	}
}

func TestOnlyAddressesOfTheInternetArePublic(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"1.1.1.1": true, "2606:4700::1111": true, "8.8.8.8": true,
		"127.0.0.1": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "169.254.169.254": false,
		"100.64.0.1": false, "0.0.0.0": false, "0.1.2.3": false, "255.255.255.255": false, "224.0.0.1": false, "192.0.2.1": false,
		"::1": false, "::": false, "fe80::1": false, "fd00::1": false, "ff02::1": false, "64:ff9b::a9fe:a9fe": false, "2002:7f00:1::": false,
		"64:ff9b::a9fe:a9fe%eth0": false, "2002:7f00:1::%eth0": false, "::ffff:0:7f00:1": false, "5f00::1": false,
	} {
		check.Want(t, want, fetch.IsPublic(netip.MustParseAddr(text)), text, "public")
	}
}
