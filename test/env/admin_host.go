package env

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// WantHosts requests paths of an admin listener by names of hosts with the status that each gets, and the refusal.
func WantHosts(tb testing.TB, client *http.Client, base, setting string, hosts map[string]int, paths ...string) {
	tb.Helper()
	const unknown = "/nothing"
	for host, want := range hosts {
		for _, path := range append([]string{unknown}, paths...) {
			request := Must(http.NewRequestWithContext(tb.Context(), http.MethodGet, base+path, http.NoBody))(tb)
			request.Host = host
			response, err := client.Do(request)
			if err != nil {
				tb.Fatal(err)
			}
			body, err := io.ReadAll(response.Body)
			response.Body.Close()
			if path == unknown && want == http.StatusOK {
				continue
			}
			if err != nil || response.StatusCode != want || want != http.StatusOK && !strings.Contains(string(body), setting) {
				tb.Errorf("%s as %q: got %d %.200s, %v, want %d", path, host, response.StatusCode, body, err, want)
			}
		}
	}
}
