package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"pnyx/api/param"
	"pnyx/api/routes"
	"pnyx/governance"
	"pnyx/reference/client"
	"pnyx/test/env"
)

const (
	// clientsFolder has the clients.
	clientsFolder = "../../clients"
	// examples has the programs that documents name.
	examples = "../../docs/examples"
	// largeVote is how many ballots the largest proposal has at least, without recast ones.
	largeVote = 10_000
)

// programs are the documents' programs in one language, as one that prints each route's id and data.
type programs struct {
	dir      string
	language client.Language
	// main calls them one after the other.
	main strings.Builder
}

func newPrograms(t *testing.T, language client.Language) *programs {
	t.Helper()
	p := &programs{dir: t.TempDir(), language: language}
	source := env.ReadFile(t, filepath.Join(clientsFolder, language.File()))
	if language == client.Go {
		p.write(t, "pnyx/pnyx.go", string(source))
		p.write(t, "go.mod", "module "+strings.TrimSuffix(client.GoModule, "/pnyx")+"\n\ngo 1.23\n")
		return p
	}
	p.write(t, language.File(), string(source))
	return p
}

func (p *programs) write(t *testing.T, path, text string) {
	t.Helper()
	path = filepath.Join(p.dir, path)
	env.MustDo(t, os.MkdirAll(filepath.Dir(path), 0o700))
	env.WriteFile(t, path, text)
}

// add adds the program of a route.
func (p *programs) add(t *testing.T, n int, id, text string) {
	t.Helper()
	name := "s" + strconv.Itoa(n)
	switch p.language {
	case client.TypeScript:
		p.write(t, name+".ts", text)
		fmt.Fprintf(&p.main, "process.stdout.write(%q);\nawait import(\"./%s.js\");\n", "--- "+id+"\n", name)
	case client.Python:
		p.write(t, name+".py", text)
		fmt.Fprintf(&p.main, "print(%q)\nrunpy.run_path(%q, {\"print\": show})\n", "--- "+id, name+".py")
	case client.Go:
		text = strings.Replace(strings.Replace(text, "package main", "package "+name, 1), "func main()", "func Run()", 1)
		p.write(t, name+"/run.go", text)
		fmt.Fprintf(&p.main, "\tfmt.Println(%q)\n\t%s.Run()\n", "--- "+id, name)
	}
}

// run runs all programs with a token, and returns the lines that each printed.
func (p *programs) run(t *testing.T, all []routes.Route, token string) map[string][]json.RawMessage {
	t.Helper()
	var out string
	switch p.language {
	case client.TypeScript:
		p.compile(t)
		p.write(t, "main.mjs", "console.log = (data) => process.stdout.write(JSON.stringify(data) + \"\\n\");\n"+p.main.String())
		out = p.exec(t, token, "node", "main.mjs")
	case client.Python:
		p.write(t, "main.py", "import json, runpy, sys\nshow = lambda data: print(json.dumps(data))\nsys.path.insert(0, \".\")\n"+p.main.String())
		out = p.exec(t, token, "python3", "main.py")
	case client.Go:
		imports := ""
		for n := range all {
			imports += fmt.Sprintf("\t%q\n", strings.TrimSuffix(client.GoModule, "pnyx")+"s"+strconv.Itoa(n))
		}
		p.write(t, "main.go", "package main\n\nimport (\n\t\"fmt\"\n"+imports+")\n\nfunc main() {\n"+p.main.String()+"}\n")
		out = p.exec(t, token, "go", "run", ".")
	}
	printed, id := map[string][]json.RawMessage{}, ""
	for line := range strings.Lines(out) {
		if name, is := strings.CutPrefix(strings.TrimSpace(line), "--- "); is {
			id = name
			continue
		}
		printed[id] = append(printed[id], json.RawMessage(line))
	}
	return printed
}

// compile compiles the programs in TypeScript.
func (p *programs) compile(t *testing.T) {
	t.Helper()
	compiler := env.Must(filepath.Abs(clientFolder + "/node_modules/.bin/tsc"))(t)
	p.write(t, "process.d.ts", "declare const process: { argv: string[]; env: Record<string, string | undefined> };\n")
	p.write(t, "package.json", `{"type": "module"}`)
	p.write(t, "tsconfig.json", `{"compilerOptions": {"strict": true, "module": "nodenext", "target": "es2022",
		"lib": ["es2022", "dom"], "types": [], "rewriteRelativeImportExtensions": true}, "include": ["*.ts"]}`)
	p.exec(t, "", compiler, "--project", p.dir)
}

// runOne runs a program with a token and arguments, and returns what it prints.
func (p *programs) runOne(t *testing.T, folder, name, token string, args ...string) string {
	t.Helper()
	command := append(p.prepare(t, folder, name), args...)
	return p.exec(t, token, command[0], command[1:]...)
}

// prepare compiles a program of a folder, and returns the command that runs it.
func (p *programs) prepare(t *testing.T, folder, name string) []string {
	t.Helper()
	if p.language == client.Go {
		return []string{buildExample(t, name)}
	}
	file := name + filepath.Ext(p.language.File())
	text := env.ReadFile(t, filepath.Join(folder, file))
	p.write(t, file, string(text))
	if p.language == client.Python {
		return []string{"python3", filepath.Join(p.dir, file)}
	}
	p.write(t, "modules.d.ts", `declare module "node:fs"; declare module "node:path"; declare module "node:sqlite";`)
	p.compile(t)
	path := filepath.Join(p.dir, name+".js")
	if exec.CommandContext(t.Context(), "node", "-e", `require("node:sqlite")`).Run() != nil { // Node 20
		compiled, errRead := os.ReadFile(path)
		p.write(t, name+".js", strings.Replace(string(compiled), "node:sqlite", "@photostructure/sqlite", 1))
		modules, errPath := filepath.Abs("npm/node_modules")
		env.MustDo(t, errors.Join(errRead, errPath, os.Symlink(modules, filepath.Join(p.dir, "node_modules"))))
	}
	return []string{"node", path}
}

// exec runs a command in the folder, and returns what it prints.
func (p *programs) exec(t *testing.T, token, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), clientTime)
	defer cancel()
	command := exec.CommandContext(ctx, name, args...)
	command.Dir = p.dir
	command.Env = append(os.Environ(), "PNYX_TOKEN="+token, "GOWORK=off", "GOPROXY=off", "GOFLAGS=-mod=mod")
	var failed strings.Builder
	command.Stderr = &failed
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%.2000s", name, err, failed.String(), out)
	}
	return string(out)
}

// requireClient skips the test where a language's compiler is not installed.
func requireClient(t *testing.T, language client.Language) {
	t.Helper()
	switch language {
	case client.TypeScript:
		if _, err := os.Stat(clientFolder + "/node_modules/.bin/tsc"); err != nil {
			t.Skip("no node_modules: make npm")
		}
	case client.Python:
		env.Program(t, "python3", "PNYX_TEST_REQUIRE_MYPY")
	case client.Go:
	}
}

// The documents' program for each route, in each language, prints the answers over HTTP.
func TestLongClientsReadWhatHTTPReads(t *testing.T) {
	t.Parallel()
	env.RequireEngine(t)
	i := startShared(t, nil, "serve").ready()
	began := time.Now().UTC().Format(env.TimeLayout)
	i.Import(env.GeneratedDataSet(t, "--now", "2026-06-01T00:00:00Z", "--daos", "4", "--proposals", "30",
		"--ballots", strconv.Itoa(2*largeVote), "--largest", strconv.Itoa(largeVote*6/5)))
	i.AwaitPublished()
	token, values := i.clientToken(), i.clientValues()
	values["began"] = began
	var all []routes.Route
	for _, route := range routes.All() {
		if route.Media == nil {
			all = append(all, route)
		}
	}
	env.Until(t, func() error { // a dossier of thousands of ballots takes longer than an answer waits
		var evidence governance.Evidence
		if _, err := i.Read("/v2/proposals/"+values["proposalKey"]+"/evidence", &evidence); err != nil {
			return err
		}
		if status := evidence.Intelligence.Status; status != governance.IntelligenceAvailable {
			return fmt.Errorf("the dossier is %s", status)
		}
		return nil
	})
	counts := i.countChoices(t, values["title"])
	for _, language := range client.Languages() {
		t.Run("example in "+string(language), func(t *testing.T) {
			t.Parallel()
			requireClient(t, language)
			got := newPrograms(t, language).runOne(t, examples, "ballots", token, i.URL, values["title"])
			if !env.SameJSON(json.RawMessage(got), counts) {
				t.Errorf("got %s, want %s", got, counts)
			}
		})
		t.Run(string(language), func(t *testing.T) {
			t.Parallel()
			requireClient(t, language)
			p := newPrograms(t, language)
			for n, route := range all {
				text := env.Must(client.Snippet(language, i.URL, route, valuesOf(route, values)))(t)
				p.add(t, n, route.ID, text)
			}
			printed := p.run(t, all, token)
			for _, route := range all {
				i.wantPrinted(t, route, valuesOf(route, values), printed[route.ID])
			}
		})
	}
}

// countChoices counts the ballots of the proposal with a title by choice, over HTTP.
func (i *instance) countChoices(t *testing.T, title string) json.RawMessage {
	t.Helper()
	var found struct {
		Candidates []struct{ ProposalKey string }
	}
	i.Get("/v2/proposals/resolve?limit=1&title="+url.QueryEscape(title), &found)
	rows := env.Must(i.Walk("/v2/proposals/"+found.Candidates[0].ProposalKey+"/votes", 500))(t)
	counts := map[string]int{}
	for _, row := range rows {
		var ballot struct{ Choice struct{ Label string } }
		env.Decode(t, row, &ballot)
		counts[ballot.Choice.Label]++
	}
	return env.Must(json.Marshal(counts))(t)
}

// clientToken issues a token that opens every route, and waits until it does.
func (i *instance) clientToken() string {
	i.TB.Helper()
	token := issueToken(i.TB, i.Environ, "--name", "clients", "--plan", "custom",
		"--scopes", "v2:paid:*", "--limits", "10000000,600000,200000,600000,200000").Token
	i.awaitToken(token)
	return token
}

// clientValues are parameters with much data: the largest proposal, its DAO and its strongest voter.
func (i *instance) clientValues() map[string]string {
	i.TB.Helper()
	var proposals []struct {
		ProposalKey, Title string
		Identity           struct{ DAOID string }
	}
	i.Get("/v2/proposals?limit=100", &proposals)
	for _, proposal := range proposals {
		var summary struct{ Totals *struct{ Votes string } }
		i.Get("/v2/proposals/"+proposal.ProposalKey+"/votes/summary", &summary)
		if summary.Totals == nil {
			continue
		}
		if votes, err := strconv.Atoi(summary.Totals.Votes); err != nil || votes < largeVote {
			continue
		}
		var ballots []struct{ VoterIdentity string }
		i.Get("/v2/proposals/"+proposal.ProposalKey+"/votes?limit=1", &ballots)
		var topics []struct{ TopicKey string }
		i.Get("/v2/forum-topics?limit=1", &topics)
		return map[string]string{
			"proposalKey": proposal.ProposalKey, "daoId": proposal.Identity.DAOID, "title": proposal.Title,
			"voterIdentity": ballots[0].VoterIdentity, "topicKey": topics[0].TopicKey,
			"from": "2026-03-15", "to": "2026-06-01", "metric": "votes_cast",
		}
	}
	i.TB.Fatalf("none of %d proposals has %d ballots", len(proposals), largeVote)
	return nil
}

// valuesOf returns the values for the parameters that a request of a route needs.
func valuesOf(route routes.Route, values map[string]string) map[string]string {
	needed := map[string]string{}
	for _, one := range route.Params {
		if one.In == param.InPath || one.Required || one.Name == "title" {
			needed[one.Name] = values[one.Name]
		}
	}
	if route.Stream { // it has rows since then
		needed["from"] = values["began"]
	}
	return needed
}

// wantPrinted compares what a program printed with the answers of its route.
func (i *instance) wantPrinted(t *testing.T, route routes.Route, values map[string]string, printed []json.RawMessage) {
	t.Helper()
	path, query := route.Path, url.Values{}
	for name, value := range values {
		if strings.Contains(path, ":"+name) {
			path = strings.Replace(path, ":"+name, url.PathEscape(value), 1)
		} else {
			query.Set(name, value)
		}
	}
	path += "?" + query.Encode()
	var want []json.RawMessage
	var err error
	switch {
	case route.Stream: // it grows
		i.wantChanged(t, printed)
		return
	case route.TokenOnly: // it counts the requests of the program
		want = printed[:min(1, len(printed))]
	case route.Paged():
		want, err = i.Walk(path, maxLimit(route))
	default:
		want = make([]json.RawMessage, 1)
		_, err = i.Read(path, &want[0])
	}
	if err != nil {
		t.Fatal(err)
	}
	// The voter of the most power neither delegates nor has a vote that is open.
	empty := route.ID == "voters.delegations" || route.ID == "voters.open"
	if len(want) == 0 && !empty || len(printed) != len(want) || route.ID == "proposals.votes" && len(want) < largeVote {
		t.Fatalf("%s: got %d lines, want %d", route.ID, len(printed), len(want))
	}
	for n := range want {
		if !env.SameJSON(printed[n], want[n]) {
			t.Fatalf("%s: line %d differs (-want +got):\n%s", route.ID, n, env.DiffJSON(want[n], printed[n]))
		}
	}
}

// wantChanged wants every proposal among changes.
func (i *instance) wantChanged(t *testing.T, changes []json.RawMessage) {
	t.Helper()
	changed := map[string]bool{}
	for _, row := range changes {
		var change struct{ Kind, Key string }
		if err := json.Unmarshal(row, &change); err != nil {
			t.Fatalf("changes: got %s: %v", row, err)
		}
		changed[change.Kind+" "+change.Key] = true
	}
	var proposals []struct{ ProposalKey string }
	i.Get("/v2/proposals?limit=100", &proposals)
	for _, proposal := range proposals {
		if !changed["proposal "+proposal.ProposalKey] {
			t.Errorf("changes: got %d rows without %s", len(changes), proposal.ProposalKey)
		}
	}
}

// maxLimit returns the largest page of a route.
func maxLimit(route routes.Route) int {
	for _, param := range route.Params {
		if param.Name == "limit" {
			return param.Max
		}
	}
	return 0
}

// buildExample compiles an example in Go where it is, and returns the path of the program.
func buildExample(tb testing.TB, name string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), name)
	build := exec.CommandContext(tb.Context(), "go", "build", "-C", filepath.Join(examples, name), "-o", path, ".")
	if out, err := build.CombinedOutput(); err != nil {
		tb.Fatalf("build the example: %v: %s", err, out)
	}
	return path
}
