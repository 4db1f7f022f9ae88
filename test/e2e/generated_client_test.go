package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"pnyx/api/routes"
	"pnyx/test/env"
)

// clientFolder is where a client is generated from the OpenAPI document; see client.ts.
const clientFolder = "../../reference/npm"

// clientTime bounds the build and the run of the client.
const clientTime = 10 * time.Minute

// Clients of two generators, from the published OpenAPI document, read a page of each list.
func TestLongGeneratedClientReadsEveryList(t *testing.T) {
	t.Parallel()
	env.RequireEngine(t)
	if _, err := os.Stat(clientFolder + "/node_modules/.package-lock.json"); err != nil {
		t.Skip("no node_modules: make npm")
	}
	base, token := nodeForClients(t)
	ctx, cancel := context.WithTimeout(t.Context(), clientTime)
	defer cancel()
	build := exec.CommandContext(ctx, "npm", "run", "--silent", "client")
	build.Dir = clientFolder
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("make the client: %v\n%s", err, text)
	}
	lists := []string{"daos", "proposals", "ballots", "topics", "events", "signals"}
	for program, lists := range map[string][]string{"client.js": append(lists, "voters", "history"), "heyapi.js": lists} {
		env.Until(t, func() error {
			text, err := exec.CommandContext(ctx, "node", clientFolder+"/build/"+program, base, token).Output()
			if err != nil {
				return err // the token or the last computed views may not be published yet
			}
			return wantRows(text, lists)
		})
	}
}

// goClientFolder is where a Go client is generated from the OpenAPI document; see main.go.
const goClientFolder = "../oapi"

// maxGoClientLines bounds the Go client a route or webhook; the first edition had 1,090.
const maxGoClientLines = 420

// A Go client from the published OpenAPI document is short, and reads a page of each list.
func TestLongGeneratedGoClientReadsEveryList(t *testing.T) {
	t.Parallel()
	env.RequireEngine(t)
	base, token := nodeForClients(t)
	ctx, cancel := context.WithTimeout(t.Context(), clientTime)
	defer cancel()
	goTool := func(args ...string) []byte {
		command := exec.CommandContext(ctx, "go", args...)
		command.Dir, command.Stderr = goClientFolder, os.Stderr
		text, err := command.Output()
		if err != nil {
			t.Fatalf("go %v: %v", args, err)
		}
		return text
	}
	env.MustDo(t, os.MkdirAll(goClientFolder+"/build", 0o700))
	goTool("tool", "oapi-codegen", "-generate", "types,client", "-package", "build", "-o", "build/client.go", "../../docs/agent-v2.json")
	source := env.ReadFile(t, goClientFolder+"/build/client.go")
	described := len(routes.All()) + 3 // kinds of webhooks
	if lines := bytes.Count(source, []byte("\n")); lines > maxGoClientLines*described {
		t.Errorf("the client has %d lines for %d routes and webhooks, want at most %d for one", lines, described, maxGoClientLines)
	}
	goTool("vet", ".")
	goTool("build", "-o", "build/client", ".")
	env.Until(t, func() error {
		text, err := exec.CommandContext(ctx, goClientFolder+"/build/client", base, token).Output()
		if err != nil {
			return err // the token or the last computed views may not be published yet
		}
		return wantRows(text, []string{"daos", "proposals", "voters", "ballots", "topics", "events", "signals", "history"})
	})
}

// nodeForClients starts a node with the demonstration, and issues a token for everything.
func nodeForClients(t *testing.T) (base, token string) {
	t.Helper()
	i := startShared(t, nil, "serve", "--demo").ready()
	i.AwaitPublished()
	return i.URL, issueToken(t, i.Environ, "--name", "client", "--plan", "custom", "--scopes", "v2:paid:*").Token
}

// wantRows checks that each of the lists had some.
func wantRows(text []byte, lists []string) error {
	var counts map[string]int
	if err := json.Unmarshal(text, &counts); err != nil {
		return err
	}
	for _, list := range lists {
		if counts[list] == 0 {
			return fmt.Errorf("no rows of %s: %v", list, counts)
		}
	}
	return nil
}
