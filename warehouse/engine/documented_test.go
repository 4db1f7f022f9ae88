package engine_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pnyx/test/env"
	"pnyx/warehouse/engine"
)

// documented are the files that show the user analyst for another server, or what the user
// may change, and their parts that come from the profile. PNYX_TEST_UPDATE=1 renews them.
func documented() map[string]struct{ from, to, text string } {
	settings := engine.AnalystSettings(engine.AnalystLimits{})
	var values, constraints string
	var statements []string
	for _, s := range settings {
		statements = append(statements, "    "+s.SQL())
		if s.Value != "" {
			values += fmt.Sprintf("            <%s>%s</%[1]s>\n", s.Name, s.Value)
		}
		bounds := "<const/>"
		if !s.Fixed {
			bounds = "<changeable_in_readonly/>"
		}
		if s.Max != "" {
			bounds = "<min>" + s.Min + "</min><max>" + s.Max + "</max>" + bounds
		}
		constraints += fmt.Sprintf("                <%s>%s</%[1]s>\n", s.Name, bounds)
	}
	names := engine.AnalystSettingNames()
	slices.Sort(names)
	list, line := "", ""
	for i, name := range names {
		if len(line)+len(name) > 124 {
			list, line = list+line+"\n", ""
		}
		line += "`" + name + "`"
		if i < len(names)-1 {
			line += ", "
		}
	}
	return map[string]struct{ from, to, text string }{
		"observe/analyst.sql": {"SETTINGS\n", ";\n", strings.Join(statements, ",\n")},
		"observe/analyst.xml": {
			"        <analyst>\n", "        </analyst>\n    </profiles>",
			values + "            <constraints>\n" + constraints + "            </constraints>\n",
		},
		"docs/analysts.md": {"<!-- changeable settings -->\n", "<!-- end -->", strings.ReplaceAll(list+line, " \n", "\n") + ".\n"},
	}
}

func TestDocumentedProfileIsThatOfTheEngine(t *testing.T) {
	t.Parallel()
	for name, part := range documented() {
		path := filepath.Join("..", "..", name)
		text := env.ReadFile(t, path)
		before, rest, found := bytes.Cut(text, []byte(part.from))
		got, after, ends := bytes.Cut(rest, []byte(part.to))
		if !found || !ends {
			t.Fatalf("%s: has no part between %q and %q", name, part.from, part.to)
		}
		if string(got) == part.text {
			continue
		}
		if os.Getenv("PNYX_TEST_UPDATE") == "" {
			t.Errorf("%s: got\n%s\nwant (PNYX_TEST_UPDATE=1 renews it)\n%s", name, got, part.text)
			continue
		}
		renewed := slices.Concat(before, []byte(part.from+part.text+part.to), after)
		env.MustDo(t, os.WriteFile(path, renewed, 0o600))
	}
}

// TestAttackDocumentedUser makes the attacks as the user that the documents have for another
// server, and lets the engine parse the statements that make it.
func TestAttackDocumentedUser(t *testing.T) {
	t.Parallel()
	text := env.ReadFile(t, "../../observe/analyst.xml")
	options := env.EngineOptions(t)
	folder := filepath.Join(options.DataDir, "engine", "users.d")
	env.MustDo(t, os.MkdirAll(folder, 0o700))
	user := strings.NewReplacer("<analyst>", "<documented>", "</analyst>", "</documented>", "<profile>analyst<", "<profile>documented<",
		`<password from_env="ANALYST_PASSWORD"/>`, "<password>of-a-test</password>").Replace(string(text))
	env.WriteFile(t, filepath.Join(folder, "documented.xml"), user)
	i := start(t, options).Instance()
	a := newAttacker(t, i.HTTPAddr, "documented", "of-a-test")
	a.check(t)
	for query, want := range map[string]string{
		"SELECT getSetting('readonly')":                                                "1",
		"SELECT getSetting('readonly') SETTINGS profile = 'default'":                   "",
		"SELECT 1 SETTINGS max_memory_usage = 0":                                       "",
		"SELECT 1 AS x FORMAT JSONEachRow SETTINGS output_format_write_statistics = 0": `{"x":1}`,
	} {
		if got, err := a.ask(query, nil); got != want && (want != "" || err == nil) {
			t.Errorf("%s: got %q, %v, want %q", query, got, err, want)
		}
	}
	statements := env.ReadFile(t, "../../observe/analyst.sql")
	owner := &attacker{address: i.HTTPAddr, user: i.User, password: i.Password}
	for statement := range strings.SplitSeq(comments.ReplaceAllString(string(statements), ""), ";") {
		if statement = strings.TrimSpace(statement); statement == "" {
			continue
		}
		if _, err := owner.ask("SELECT formatQuery("+quoted(statement)+")", nil); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
	}
}

// comments are the comments of a file of statements.
var comments = regexp.MustCompile(`(?m)--.*$`)
