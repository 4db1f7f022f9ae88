package chain_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"pnyx/test/env"
)

// evmChain is a chain on this machine with contracts of OpenZeppelin, Compound and our own, of each kind
// of Governor one, or escrows of votes. The programs in test/upstream/evm compile, deploy and play them.
type evmChain struct {
	// Node answers JSON-RPC.
	Node http.Handler
	// Steps is how many steps are left to be played.
	Steps int

	tb  testing.TB
	in  io.Writer
	out *bufio.Scanner
}

// evmView is what the contracts say of themselves after a step.
type evmView struct {
	// Time is the time of the newest block, in seconds.
	Time int64
	// Steps is how many steps there are, in the first view.
	Steps     int
	Governors []evmGovernor
	Tokens    []evmToken
	// Names are accounts with primary names in a registry of names.
	Names struct {
		Registry string
		Accounts []string
	}
}

// evmToken is a token with what it says of accounts: their votes now, in smallest units, and their
// delegates, which are zero for none. Both are empty where they cannot be known.
type evmToken struct {
	Name, Address string
	Decimals      uint8
	Supply        string
	Accounts      []struct{ Voter, Votes, Delegate string }
}

// evmGovernor is a contract with its proposals.
type evmGovernor struct {
	Name, Address string
	Decimals      uint8
	Proposals     []evmProposal
}

// evmProposal is what a contract says of a proposal.
type evmProposal struct {
	ID    string
	State int
	// Votes are against, for, abstain, and Quorum is as of the end of voting, or of the head before;
	// both in smallest units.
	Votes  []string
	Quorum string
	// EndAt is the time in seconds of the block in which voting ended; 0 before.
	EndAt int64
}

// startEVM starts a chain that "play" or "escrow" plays. Where node, npm or a package is missing, the test is skipped.
func startEVM(tb testing.TB, program, chainID string) (*evmChain, evmView) {
	tb.Helper()
	dir := env.NPMInstalled(tb, "evm", filepath.Join(env.Root(tb), "test", "upstream", "evm"))
	port := env.Free(tb)
	node := env.Must(url.Parse("http://127.0.0.1:" + port))(tb)
	command := exec.Command(env.Program(tb, "node", ""), filepath.Join(dir, program+".mjs"), port, chainID) // the end of its input ends it
	command.Env = append(os.Environ(), "HOME="+env.ChainHome(tb))
	var failed env.Buffer
	command.Stderr = &failed
	in := env.Must(command.StdinPipe())(tb)
	out := env.Must(command.StdoutPipe())(tb)
	env.MustDo(tb, command.Start())
	tb.Cleanup(func() {
		_ = in.Close() // ends it
		if err := command.Wait(); err != nil {
			tb.Errorf("the EVM: %v\n%s", err, failed.String())
		}
	})
	e := &evmChain{Node: httputil.NewSingleHostReverseProxy(node), tb: tb, in: in, out: bufio.NewScanner(out)}
	e.out.Buffer(nil, 1<<20)
	view := e.read()
	e.Steps = view.Steps
	return e, view
}

// Play plays the next step.
func (e *evmChain) Play() evmView {
	e.tb.Helper()
	e.Steps--
	env.Must(io.WriteString(e.in, "next\n"))(e.tb)
	return e.read()
}

func (e *evmChain) read() (view evmView) {
	e.tb.Helper()
	if !e.out.Scan() {
		e.tb.Fatalf("the EVM ended: %v", e.out.Err())
	}
	if err := json.Unmarshal(e.out.Bytes(), &view); err != nil {
		e.tb.Fatalf("read what the contracts say: %v of %.200s", err, e.out.Bytes())
	}
	return view
}
