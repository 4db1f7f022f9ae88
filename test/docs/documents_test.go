package docs_test

import (
	"fmt"
	"strings"
	"testing"

	"pnyx/test/env"
)

func TestMain(m *testing.M) { env.Main(m) }

func TestLongDocumentsShowWhatCommandsPrint(t *testing.T) {
	t.Parallel()
	for _, d := range documents(t) {
		if !d.run() {
			continue
		}
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			d.execute(t)
		})
	}
}

// execute runs the commands of a document, in order, on an instance unless it starts its own.
func (d document) execute(t *testing.T) {
	t.Helper()
	s := newShell(t, d)
	if !strings.Contains(d.text, "<!-- no instance -->") {
		s.background(t, "bin/pnyx serve --demo", "http://127.0.0.1:8081/readyz")
	}
	for _, b := range d.blocks {
		if strings.HasPrefix(b.directive, "not run") {
			continue
		}
		for _, step := range b.steps() {
			if address, ok := strings.CutPrefix(b.directive, "background: "); ok {
				s.background(t, step.command, address)
				continue
			}
			if err := s.check(t, step); err != nil {
				t.Errorf("%s:%d: %s\n%v", d.name, step.line, step.command, err)
			}
		}
	}
}

// maxTries is how often a reading command is repeated until it prints what the document has: publications, caches
// and records of what was sent come a moment later.
const maxTries = 30

// onlyReads reports whether a command may be repeated.
func onlyReads(command string) bool {
	return strings.HasPrefix(command, "curl ") || strings.HasPrefix(command, "bin/pnyx webhook log ")
}

// check runs a command, a reading one until it prints what the document has. Without output it has to succeed.
func (s *shell) check(t *testing.T, step step) error {
	t.Helper()
	for try := 1; ; try++ {
		got, status := s.do(t, step.command)
		if want := s.here(step.want); strings.TrimSpace(want) == "" && status == 0 || matches(want, got) {
			return nil
		}
		if !onlyReads(step.command) || try == maxTries {
			return fmt.Errorf("status %d, prints\n%s\nthe document has\n%s", status, got, step.want)
		}
		s.do(t, "sleep 0.5")
	}
}

func TestEveryCommandIsRunOrSaidNotToBe(t *testing.T) {
	t.Parallel()
	for _, d := range documents(t) {
		for _, line := range d.unmarked() {
			t.Errorf("%s is not run: begin it with %q, or put <!-- not run: reason --> before its block", line, prompt)
		}
	}
}

func TestOutputsAreComparedWithoutWhatChanges(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, want, got string
		same            bool
	}{
		{"wrapped lines", "{\"a\":1,\n \"b\":2}", `{"a":1,"b":2}`, true},
		{"times", `"2026-11-21T08:14:48.052Z"`, `"2027-01-02T03:04:05.678Z"`, true},
		{"an ellipsis", `{"a":…,"b":2}`, `{"a":[1,2,3],"b":2}`, true},
		{"a wider table", "├───┤", "├─────┤", true},
		{"another number", `"totalVotes":"7189"`, `"totalVotes":"7190"`, false},
		{"another decimal", `"9641049913.052988647641930135"`, `"9641049913.052988647641930136"`, false},
		{"something missing", `{"a":1,"b":2}`, `{"a":1}`, false},
		{"more than shown", `{"a":1`, `{"a":1,"b":2}`, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := matches(test.want, test.got); got != test.same {
				t.Errorf("matches(%s, %s): got %t, want %t", test.want, test.got, got, test.same)
			}
		})
	}
}
