package e2e_test

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"pnyx/test/env"
)

// mcpFolder has the official MCP clients, and the tests that are written with them.
const mcpFolder = "../../mcp/e2e"

// mcpTime bounds the run of the clients.
const mcpTime = 10 * time.Minute

// anyNumber turns the bucket of the clients' address off.
var anyNumber = []string{"PNYX_FREE_RATE=0"}

// The official TypeScript clients, of both eras, list and call all tools over HTTP and through pnyx mcp.
func TestLongOfficialMCPClientsCallEveryTool(t *testing.T) {
	t.Parallel()
	requireMCPClients(t)
	i := startShared(t, anyNumber, "serve", "--demo").ready()
	i.AwaitPublished()
	i.runMCPClients("clients.test.mjs")
}

// The tokens of what tools answer are counted row by row, on data with every feature and filled lists.
func TestLongMCPResultsAreAsShortAsModelsNeed(t *testing.T) {
	t.Parallel()
	requireMCPClients(t)
	i := startShared(t, anyNumber, "serve").ready()
	i.Import(env.GeneratedDataSet(t, "--now", "today", "--daos", "6", "--proposals", "60", "--ballots", "16000", "--largest", "8000"))
	i.AwaitPublished()
	i.runMCPClients("sizes.test.mjs")
}

// requireMCPClients skips the test where the clients are not installed.
func requireMCPClients(t *testing.T) {
	t.Helper()
	env.RequireEngine(t)
	if _, err := os.Stat(mcpFolder + "/node_modules/.package-lock.json"); err != nil {
		t.Skip("no node_modules: make npm")
	}
}

// runMCPClients runs a file of tests of the clients, with a token for all routes.
func (i *instance) runMCPClients(file string) {
	i.TB.Helper()
	token := i.clientToken()
	ctx, cancel := context.WithTimeout(i.TB.Context(), mcpTime)
	defer cancel()
	command := exec.CommandContext(ctx, "node", "--test", file)
	command.Dir = mcpFolder
	command.Env = append(os.Environ(), "PNYX="+env.Binary(i.TB), "PNYX_URL="+i.URL, "PNYX_TOKEN="+token)
	if text, err := command.CombinedOutput(); err != nil {
		i.TB.Errorf("node --test: %v\n%s", err, text)
	}
}
