package cmd

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"pnyx/config"
	"pnyx/test/env"
)

func TestAddressInUseNamesTheSettingAndThePnyxThere(t *testing.T) {
	t.Parallel()
	cfg := config.Config{API: config.API{Listen: "127.0.0.1:0", AdminListen: "127.0.0.1:0"}}
	running := newNode(&session{cfg: cfg, logger: slog.New(slog.DiscardHandler), undo: &cleanups{}})
	t.Cleanup(func() { _ = running.undo.run() })
	env.MustDo(t, running.listenForAPI())
	env.MustDo(t, running.listenForAdmin())
	running.startAdmin()
	serve := func(handler http.HandlerFunc) string {
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		return server.Listener.Addr().String()
	}
	silent := env.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = silent.Close() })
	for name, test := range map[string]struct{ address, want string }{
		"admin listener of a Pnyx": {running.admin.Addr().String(), fmt.Sprintf("another Pnyx (process %d, ", os.Getpid())},
		"API of a Pnyx": {serve(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/llms.txt" {
				fmt.Fprint(w, "# Pnyx\n\n")
				return
			}
			http.NotFound(w, r)
		}), "the API of another Pnyx"},
		"another server": {serve(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintln(w, "Welcome to \x1b[2Jnginx")
		}), "another program"},
		"a program that does not answer": {silent.Addr().String(), "another program"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := checkFree("PNYX_LISTEN", test.address)
			for _, want := range []string{"PNYX_LISTEN=" + test.address + ": ", "in use by " + test.want, "set PNYX_LISTEN"} {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %q in it", err, want)
				}
			}
		})
	}
}
