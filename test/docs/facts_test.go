package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pnyx/config"
	"pnyx/test/env"
)

var (
	link    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	fence   = regexp.MustCompile("(?ms)^```.*?^```$")
	dropped = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	code    = regexp.MustCompile("`([^`\n]+)`")
	setting = regexp.MustCompile(`\b(?:PNYX|X402|CLICKHOUSE|REDIS|RATELIMIT)_[A-Z0-9_]+\b`)
	target  = regexp.MustCompile(`\bmake ([a-z][a-z0-9-]*)`)
	rules   = regexp.MustCompile(`(?m)^([a-z][a-z0-9-]*):`)
	program = regexp.MustCompile(`^(?:bin/)?pnyx ([a-z]+)((?: [a-z]+)*)(.*)$`)
	flag    = regexp.MustCompile(`--[a-z][a-z-]+`)
)

// anchors lists the anchors of a document, as GitHub makes them of headings.
func anchors(text string) []string {
	var all []string
	for _, match := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		name := dropped.ReplaceAllString(strings.ToLower(match[1]), "")
		all = append(all, strings.ReplaceAll(name, " ", "-"))
	}
	return all
}

func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	for _, d := range documents(t) {
		for _, match := range link.FindAllStringSubmatch(fence.ReplaceAllString(d.text, ""), -1) {
			file, anchor, _ := strings.Cut(match[1], "#")
			if strings.Contains(file, "://") || strings.HasPrefix(match[1], "/") || strings.HasPrefix(match[1], "#/") {
				continue
			}
			text := d.text
			if file != "" {
				path := filepath.Join(root, filepath.Dir(d.name), filepath.FromSlash(file))
				if _, err := os.Stat(path); err != nil {
					t.Errorf("%s links to %s, which does not exist", d.name, match[1])
					continue
				}
				if anchor == "" {
					continue
				}
				content := env.ReadFile(t, path)
				text = string(content)
			}
			if !slices.Contains(anchors(text), anchor) {
				t.Errorf("%s links to %s, but there is no such heading", d.name, match[1])
			}
		}
	}
}

func TestSettingsInDocumentsExist(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, s := range config.Settings() {
		known[s.Name] = true
	}
	for _, d := range documents(t) {
		for _, name := range setting.FindAllString(d.text, -1) {
			if !known[name] && !strings.HasPrefix(name, "PNYX_TEST_") {
				t.Errorf("%s names the setting %s, which does not exist", d.name, name)
			}
		}
	}
}

func TestMakeTargetsInDocumentsExist(t *testing.T) {
	t.Parallel()
	makefile := env.ReadFile(t, root+"/Makefile")
	known := map[string]bool{}
	for _, match := range rules.FindAllStringSubmatch(string(makefile), -1) {
		known[match[1]] = true
	}
	for _, d := range documents(t) {
		spans := code.FindAllStringSubmatch(d.text, -1)
		for _, b := range d.blocks {
			for _, line := range b.lines {
				spans = append(spans, []string{"", strings.TrimPrefix(line, prompt)})
			}
		}
		for _, span := range spans {
			if !strings.HasPrefix(span[1], "make ") {
				continue
			}
			if match := target.FindStringSubmatch(span[1]); match != nil && !known[match[1]] {
				t.Errorf("%s names `make %s`, which does not exist", d.name, match[1])
			}
		}
	}
}

func TestCommandsAndFlagsInDocumentsExist(t *testing.T) {
	t.Parallel()
	help := map[string]string{}
	ask := func(words []string) string {
		key := strings.Join(words, " ")
		if help[key] == "" {
			help[key], _ = env.Run(t, nil, append(slices.Clone(words), "--help")...)
		}
		return help[key]
	}
	for _, d := range documents(t) {
		for _, span := range code.FindAllStringSubmatch(d.text, -1) {
			match := program.FindStringSubmatch(span[1])
			if match == nil {
				continue
			}
			words := []string{match[1]}
			text := ask(words)
			if !strings.Contains(text, "Usage:\n  pnyx "+match[1]) {
				t.Errorf("%s names `pnyx %s`, which does not exist", d.name, match[1])
				continue
			}
			if sub := strings.Fields(match[2]); len(sub) > 0 && strings.Contains(text, "Available Commands:") {
				words = append(words, sub[0])
				if text = ask(words); !strings.Contains(text, "Usage:\n  pnyx "+strings.Join(words, " ")) {
					t.Errorf("%s names `pnyx %s`, which does not exist", d.name, strings.Join(words, " "))
					continue
				}
			}
			for _, name := range flag.FindAllString(match[3], -1) {
				if !strings.Contains(text, name) {
					t.Errorf("%s names `%s`, but pnyx %s has no flag %s", d.name, span[1], strings.Join(words, " "), name)
				}
			}
		}
	}
}
