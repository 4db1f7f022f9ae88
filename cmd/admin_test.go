package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pnyx/config"
	"pnyx/test/env"
)

func TestNodeLogsWhatItWaitsForUntilItIsReady(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		readyAfter time.Duration
		want       []string
	}{
		"ready at once":   {0, nil},
		"ready after 40s": {40 * time.Second, []string{"waited_ms=1000 ", "waited_ms=31000 ", "msg=ready waited_ms=40000"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var out bytes.Buffer
				logger := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: inMilliseconds}))
				logUntilReady(t.Context(), logger, func(context.Context) error {
					if time.Since(began) < test.readyAfter {
						return errors.New("redis: connection refused")
					}
					return nil
				})
				lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
				if out.Len() == 0 {
					lines = nil
				}
				if len(lines) != len(test.want) {
					t.Fatalf("got %q, want %d lines", lines, len(test.want))
				}
				for i, want := range test.want {
					env.WantPart(t, want, lines[i], "line", i, "in it")
				}
			})
		})
	}
}

func TestAProfileThatSomebodyTakesFailsNoShutdown(t *testing.T) {
	t.Parallel()
	n := newNode(&session{undo: &cleanups{}, logger: slog.New(slog.DiscardHandler)})
	n.cfg.API.AdminListen = "127.0.0.1:0"
	env.MustDo(t, n.listenForAdmin())
	n.startAdmin()
	connection := env.Must(net.Dial("tcp", n.admin.Addr().String()))(t)
	defer connection.Close()
	fmt.Fprint(connection, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /debug/pprof/profile?seconds=9 HTTP/1.1\r\nHost: localhost\r\n\r\n")
	env.Must(connection.Read(make([]byte, 1)))(t)
	env.MustDo(t, n.undo.run())
}

// A page in a browser reaches the admin listener by a name that its owner resolves to this machine.
func TestAttackTheAdminListenerAnswersNoForeignName(t *testing.T) {
	t.Parallel()
	cfg := config.Config{API: config.API{Listen: "127.0.0.1:0", AdminListen: "127.0.0.1:0"}}
	running := newNode(&session{cfg: cfg, logger: slog.New(slog.DiscardHandler), undo: &cleanups{}})
	t.Cleanup(func() { _ = running.undo.run() })
	env.MustDo(t, running.listenForAdmin())
	running.cfg.API.AdminListen = "Admin.Example.org:8081"
	running.startAdmin()
	env.WantHosts(t, http.DefaultClient, "http://"+running.admin.Addr().String(), "PNYX_ADMIN_LISTEN", map[string]int{
		"": http.StatusOK, "localhost": http.StatusOK, "LOCALHOST:8081": http.StatusOK, "127.0.0.1:8081": http.StatusOK, "10.1.2.3:8081": http.StatusOK,
		"[::1]:8081": http.StatusOK, "[fd00::7]": http.StatusOK, "node.localhost": http.StatusOK, "api:8081": http.StatusOK, "admin.example.org:8081": http.StatusOK,
		"evil.example": http.StatusMisdirectedRequest, "evil.example:8081": http.StatusMisdirectedRequest, "127.0.0.1.evil.example": http.StatusMisdirectedRequest,
		"localhost.evil.example": http.StatusMisdirectedRequest, "evil.example.": http.StatusMisdirectedRequest, "evillocalhost.com": http.StatusMisdirectedRequest,
		"admin.example.org.evil.example": http.StatusMisdirectedRequest, "com.": http.StatusMisdirectedRequest,
	}, "/", "/healthz", "/metrics", "/debug/pprof/")
}
