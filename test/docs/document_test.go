// Package docs_test executes the commands of the documents against a fresh instance, and
// compares what they print with what the documents show.
package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pnyx/test/env"
)

const root = "../.."

// prompt begins a line with a command, whose output follows up to the next one.
const prompt = "$ "

// document is a Markdown file as a sequence of blocks of code.
type document struct {
	// name is the path below root.
	name string
	text string
	// blocks has the blocks of code in their order.
	blocks []block
}

type block struct {
	// line is the number of its first line, from 1.
	line int
	// language stands at the fence; empty for an indented block.
	language string
	// directive is the HTML comment before the block: "not run: REASON" or "background: URL"; empty to run it.
	directive string
	lines     []string
}

// step is a command with what the document shows as its output.
type step struct {
	line    int
	command string
	want    string
}

// names of documents that describe the past.
func historic(name string) bool { return name == "CHANGELOG.md" }

func documents(t *testing.T) []document {
	t.Helper()
	var all []document
	env.MustDo(t, filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.IsDir() && (name == "node_modules" || name == "data" || strings.HasPrefix(name, ".") && len(name) > 2) {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if !historic(name) {
			all = append(all, document{name: name, text: string(text), blocks: blocks(string(text))})
		}
		return nil
	}))
	if len(all) < 10 {
		t.Fatalf("got %d documents below %s, want more", len(all), root)
	}
	return all
}

// comment is a directive for the block after it.
var comment = regexp.MustCompile(`^<!-- ((?:not run|background): .+) -->$`)

// blocks splits a document into its blocks of code, which begin after an empty line if indented.
func blocks(text string) []block {
	var (
		all       []block
		directive string
		lines     = strings.Split(text, "\n")
	)
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if match := comment.FindStringSubmatch(line); match != nil {
			directive = match[1]
			continue
		}
		var b block
		switch {
		case strings.HasPrefix(line, "```"):
			b = block{line: i + 2, language: strings.TrimPrefix(line, "```")}
			for i++; i < len(lines) && !strings.HasPrefix(lines[i], "```"); i++ {
				b.lines = append(b.lines, lines[i])
			}
		case strings.HasPrefix(line, "    ") && (i == 0 || lines[i-1] == "" || comment.MatchString(lines[i-1])):
			b = block{line: i + 1}
			for ; i < len(lines) && (strings.HasPrefix(lines[i], "    ") || lines[i] == ""); i++ {
				b.lines = append(b.lines, strings.TrimPrefix(lines[i], "    "))
			}
			i--
		case line == "":
			continue
		}
		if b.lines != nil {
			b.directive = directive
			all = append(all, b)
		}
		directive = ""
	}
	return all
}

// programs begin a line that is a command.
var programs = regexp.MustCompile(`^(?:[A-Z0-9_]+=\S* )*(?:bin/pnyx|pnyx|make|curl|kubectl|docker|git|go|npm|openssl|redis-cli|clickhouse-client|clickhouse|duckdb|psql|python3?|prometheus|promtool|grafana|aws|export|cd|rm|systemctl)(?: |$)`)

// unmarked lists lines that look like commands, but are neither run nor said to be not run.
func (d document) unmarked() []string {
	var found []string
	for _, b := range d.blocks {
		if b.directive != "" || !slices.Contains([]string{"", "sh", "console"}, b.language) {
			continue
		}
		if slices.ContainsFunc(b.lines, func(line string) bool { return strings.HasPrefix(line, prompt) }) {
			continue
		}
		for i, line := range b.lines {
			if programs.MatchString(line) {
				found = append(found, fmt.Sprintf("%s:%d: %s", d.name, b.line+i, line))
			}
		}
	}
	return found
}

// steps returns the commands of a block, which go on after a backslash, and up to WORD after <<'WORD'.
func (b block) steps() []step {
	var all []step
	for i := 0; i < len(b.lines); i++ {
		command, isCommand := strings.CutPrefix(b.lines[i], prompt)
		if !isCommand {
			if len(all) > 0 {
				all[len(all)-1].want += b.lines[i] + "\n"
			}
			continue
		}
		s := step{line: b.line + i, command: command}
		for strings.HasSuffix(s.command, `\`) && i+1 < len(b.lines) {
			i++
			s.command += "\n" + b.lines[i]
		}
		if match := heredoc.FindStringSubmatch(command); match != nil {
			for i++; i < len(b.lines); i++ {
				s.command += "\n" + b.lines[i]
				if b.lines[i] == match[1] {
					break
				}
			}
		}
		all = append(all, s)
	}
	return all
}

var heredoc = regexp.MustCompile(`<<'?([A-Z]+)'?`)

// run reports whether the document has a command to run.
func (d document) run() bool {
	return slices.ContainsFunc(d.blocks, func(b block) bool {
		return !strings.HasPrefix(b.directive, "not run") && len(b.steps()) > 0
	})
}
