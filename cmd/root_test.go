package cmd

import (
	"bytes"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"pnyx/config"
	"pnyx/test/env"
)

func TestDurationsAreLoggedInMilliseconds(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{"json": `"duration_ms":1500.25,`, "text": " duration_ms=1500.25 "} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			newLogger(&out, config.Log{Format: format}).LogAttrs(t.Context(), slog.LevelInfo, "done",
				slog.Duration("duration", 1500*time.Millisecond+250*time.Microsecond), slog.Int("n", 1))
			if !strings.Contains(out.String(), want) {
				t.Errorf("got %s, want %s", &out, want)
			}
		})
	}
}

//nolint:paralleltest // the environment is the process's
func TestConfigShowsTheSettingsOfServices(t *testing.T) {
	t.Setenv("PNYX_LOG_LEVEL", "")
	root := rootCommand()
	var out strings.Builder
	root.SetOut(&out)
	root.SetArgs([]string{"config"})
	env.MustDo(t, root.ExecuteContext(t.Context()))
	env.WantPart(t, "PNYX_LOG_LEVEL=info ", out.String(), "settings")
}

func TestWrongArgumentsAreErrorsThatStateTheUsage(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ args, want string }{
		{"token isue", `unknown command "isue" for "pnyx token"`},
		{"payments lst", `unknown command "lst" for "pnyx payments"`},
		{"help nope", `unknown command "nope" for "pnyx"`},
		{"help token isue", `unknown command "isue" for "pnyx token"`},
		{"edge confg", `unknown command "confg" for "pnyx edge"`},
		{"serve --demoo", "usage: pnyx serve [flags]"},
		{"mcp https://a", "usage: pnyx mcp [flags]"},
		{"import", "usage: pnyx import PATH… [flags]"},
		{"token show", "usage: pnyx token show ID"},
		{"token issue", "usage: pnyx token issue [flags]"},
		{"webhook add --token a", "usage: pnyx webhook add [flags]"},
		{"token rotate a --overlap -1h", "from 0s to 8760h"},
		{"webhook rotate a --overlap 2562047h", "from 0s to 8760h"},
		{"token issue --plan gold", "│ business  │ 20000"},
		{"backup list /nowhere", "no complete backup in /nowhere"},
	} {
		t.Run(test.args, func(t *testing.T) {
			t.Parallel()
			root := rootCommand()
			root.SetOut(io.Discard)
			root.SetArgs(strings.Fields(test.args))
			if err := root.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
		})
	}
}
