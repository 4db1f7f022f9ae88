package cmd

import (
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"pnyx/config"
	"pnyx/test/env"
)

// A page in a browser of the machine reaches the admin listener by a name that its owner
// resolves to this machine.
func TestAttackTheAdminListenerAnswersNoForeignName(t *testing.T) {
	t.Parallel()
	cfg := config.Config{API: config.API{Listen: "127.0.0.1:0", AdminListen: "127.0.0.1:0"}}
	running := newNode(&session{cfg: cfg, logger: slog.New(slog.DiscardHandler), undo: &cleanups{}})
	t.Cleanup(func() { _ = running.undo.run() })
	env.MustDo(t, running.listenForAdmin())
	running.cfg.API.AdminListen = "Admin.Example.org:8081"
	running.startAdmin()
	for host, want := range map[string]int{
		"": http.StatusOK, "localhost": http.StatusOK, "LOCALHOST:8081": http.StatusOK, "127.0.0.1:8081": http.StatusOK, "10.1.2.3:8081": http.StatusOK,
		"[::1]:8081": http.StatusOK, "[fd00::7]": http.StatusOK, "node.localhost": http.StatusOK, "api:8081": http.StatusOK, "admin.example.org:8081": http.StatusOK,
		"evil.example": http.StatusMisdirectedRequest, "evil.example:8081": http.StatusMisdirectedRequest, "127.0.0.1.evil.example": http.StatusMisdirectedRequest,
		"localhost.evil.example": http.StatusMisdirectedRequest, "evil.example.": http.StatusMisdirectedRequest, "evillocalhost.com": http.StatusMisdirectedRequest,
		"admin.example.org.evil.example": http.StatusMisdirectedRequest, "com.": http.StatusMisdirectedRequest,
	} {
		for _, path := range []string{"/", "/healthz", "/metrics", "/debug/pprof/", "/nothing"} {
			request := env.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+running.admin.Addr().String()+path, http.NoBody))(t)
			request.Host = host
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(response.Body)
			response.Body.Close()
			if path == "/nothing" && want == http.StatusOK {
				continue
			}
			if err != nil || response.StatusCode != want || want != http.StatusOK && !strings.Contains(string(body), "PNYX_ADMIN_LISTEN") {
				t.Errorf("%s as %q: got %d %.200s, %v, want %d", path, host, response.StatusCode, body, err, want)
			}
		}
	}
}
