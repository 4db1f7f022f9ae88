package env

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/gofrs/flock"
)

// ChainLab is an EVM chain with Governors whose proposals and votes are known, and an RPC in front of it that
// fails as providers do. PNYX_TEST_CHAIN_LAB names the folder of its programs.
type ChainLab struct {
	// URL is the node, ProxyURL the RPC in front of it.
	URL, ProxyURL string

	tb      testing.TB
	dir     string
	run     string
	environ []string
}

// LabGovernor is a contract of the lab with what a follower must find.
type LabGovernor struct {
	// Name is the lab's, Address the contract's.
	Name, Address string
	Decimals      uint8  // of the token
	Clock         string // "blocknumber" or "timestamp"
	Proposals     []LabProposal
}

// LabProposal is a proposal of the lab. Amounts are in smallest units.
type LabProposal struct {
	ID, Proposer, Description string
	// Start and End are clock values.
	Start, End string
	// State and Quorum are the contract's; empty where it does not say.
	State, Quorum string
	Tally         map[string]string // power by choice
	Voters        int
	Votes         []LabVote
}

// LabVote is one cast.
type LabVote struct {
	Voter, Support, Reason string
	// Parts is the power by choice of a cast in parts.
	Parts map[string]string
}

// StartChainLab starts a lab of the test's own, or skips it without PNYX_TEST_CHAIN_LAB.
func StartChainLab(tb testing.TB) *ChainLab {
	tb.Helper()
	source := os.Getenv("PNYX_TEST_CHAIN_LAB")
	if source == "" {
		tb.Skip("needs PNYX_TEST_CHAIN_LAB, a folder with the chain lab")
	}
	lab := &ChainLab{tb: tb, dir: NPMInstalled(tb, "chain-lab", source), run: tb.TempDir()}
	port, proxy := Free(tb), Free(tb)
	lab.URL, lab.ProxyURL = "http://127.0.0.1:"+port, "http://127.0.0.1:"+proxy
	lab.environ = []string{"LAB_RUN=" + lab.run, "LAB_PORT=" + port, "LAB_PROXY_PORT=" + proxy, "HOME=" + ChainHome(tb)}
	tb.Cleanup(func() { lab.Script("down") })
	// Compiling the contracts takes most of the start; the result is kept for the next lab.
	lab.copyCompiled(lab.dir, lab.run)
	lab.Script("up")
	lab.copyCompiled(lab.run, lab.dir)
	NewProcess(tb, Program(tb, "node", ""), lab.environ, filepath.Join(lab.dir, "proxy.mjs")).Start()
	Until(tb, func() error {
		answer, err := http.Get(lab.ProxyURL + "/control") //nolint:noctx // a test
		if err != nil {
			return err
		}
		return answer.Body.Close()
	})
	return lab
}

// ChainHome is the home folder of a chain, which leaves gigabytes there. It is removed once the chain ends.
func ChainHome(tb testing.TB) string {
	tb.Helper()
	home := Must(os.MkdirTemp("", "pnyx-test-chain-"))(tb) //nolint:usetesting // removed once the chain no longer writes
	tb.Cleanup(func() { Until(tb, func() error { return os.RemoveAll(home) }) })
	return home
}

// NPMInstalled copies a folder and installs its packages, once for its package.json, or skips the test.
func NPMInstalled(tb testing.TB, name, source string) string {
	tb.Helper()
	npm := Program(tb, "npm", "")
	dir := Must(cacheFolder(name))(tb)
	lock := flock.New(dir + ".lock")
	MustDo(tb, lock.Lock())
	defer lock.Unlock() //nolint:errcheck // the end of the process unlocks as well
	recipe := ReadFile(tb, filepath.Join(source, "package.json"))
	complete := filepath.Join(dir, "complete")
	if installed, err := os.ReadFile(complete); err != nil || !bytes.Equal(installed, recipe) { //nolint:gosec // as above
		MustDo(tb, os.RemoveAll(dir))
	}
	copied := exec.CommandContext(tb.Context(), "cp", "-r", source+"/.", dir) //nolint:gosec // our own words
	if out, err := copied.CombinedOutput(); err != nil {
		tb.Fatalf("copy %s: %v\n%s", name, err, out)
	}
	if _, err := os.Stat(complete); err == nil {
		return dir
	}
	install := exec.CommandContext(tb.Context(), npm, "install", "--no-audit", "--no-fund") //nolint:gosec // our own words
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		tb.Skipf("%s cannot be installed: %v\n%s", name, err, out)
	}
	WriteFile(tb, complete, string(recipe))
	return dir
}

// copyCompiled copies the compiled contracts from one folder to another.
func (l *ChainLab) copyCompiled(from, to string) {
	l.tb.Helper()
	files := Must(filepath.Glob(filepath.Join(from, "artifacts-*.json")))(l.tb)
	for _, file := range files {
		part := filepath.Join(to, fmt.Sprintf("%s.%d", filepath.Base(file), os.Getpid()))
		WriteFile(l.tb, part, string(ReadFile(l.tb, file)))
		MustDo(l.tb, os.Rename(part, filepath.Join(to, filepath.Base(file))))
	}
}

// Script runs a script of the lab: up, down, reorg, live.
func (l *ChainLab) Script(name string, args ...string) []byte {
	l.tb.Helper()
	command := exec.Command("node", append([]string{filepath.Join(l.dir, name+".mjs")}, args...)...) //nolint:noctx,gosec // it ends by itself
	command.Env = append(os.Environ(), l.environ...)
	var failed bytes.Buffer
	command.Stderr = &failed
	out, err := command.Output()
	if err != nil {
		l.tb.Fatalf("%s %v: %v\n%s", name, args, err, &failed)
	}
	return out
}

// Mine adds empty blocks.
func (l *ChainLab) Mine(blocks int) {
	l.tb.Helper()
	l.post(l.URL, map[string]any{"jsonrpc": "2.0", "id": 1, "method": "anvil_mine", "params": []string{fmt.Sprintf("0x%x", blocks)}})
}

// Control changes how the RPC in front of the node fails.
func (l *ChainLab) Control(knobs map[string]any) {
	l.tb.Helper()
	l.post(l.ProxyURL+"/control", knobs)
}

func (l *ChainLab) post(url string, body map[string]any) {
	l.tb.Helper()
	text := Must(json.Marshal(body))(l.tb)
	answer := Must(http.Post(url, "application/json", bytes.NewReader(text)))(l.tb) //nolint:noctx,bodyclose,gosec // to the lab; closed below
	answer.Body.Close()
}

// Expected returns what a follower must find.
func (l *ChainLab) Expected() []LabGovernor {
	l.tb.Helper()
	var expected struct{ Governors []LabGovernor }
	Decode(l.tb, ReadFile(l.tb, filepath.Join(l.run, "expected.json")), &expected)
	return expected.Governors
}
