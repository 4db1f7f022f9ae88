package cmd

import (
	"bytes"
	"strings"
	"testing"

	"pnyx/test/env"
	"pnyx/warehouse/accounts"
)

func TestControlCharactersAreEscapedWhereverWritesAreCut(t *testing.T) {
	t.Parallel()
	const text = "é│\tgut\n\x1b[31m\r\x00\u009b\u202e\xc3\x9b31m\x9b\xe2\x94"
	const want = "é│\tgut\n" + `\x1b[31m\r\x00\u009b\u202e` + "\xc3\x9b31m" + `\x9b\xe2\x94`
	for size := 1; size <= len(text); size++ {
		var out bytes.Buffer
		escaper := &controlEscaper{out: &out}
		for at := 0; at < len(text); at += size {
			env.Must(escaper.Write([]byte(text[at:min(at+size, len(text))])))(t)
		}
		if err := escaper.Close(); err != nil || out.String() != want {
			t.Errorf("writes of %d bytes: got %q (%v), want %q", size, out.String(), err, want)
		}
	}
}

func TestNamesOfStrangersAreEscapedForTheTerminal(t *testing.T) {
	t.Parallel()
	var out, explained bytes.Buffer
	token := accounts.Token{ID: "abc", Name: "A\x1b[2JCME", Plan: "business"}
	env.MustDo(t, printNewToken(&out, &explained, token, "pnyx_abc", false))
	if !strings.Contains(explained.String(), `A\x1b[2JCME`) || strings.Contains(explained.String(), "\x1b") {
		t.Errorf("got %q, want the name escaped", &explained)
	}
	env.Want(t, "pnyx_abc\n", out.String(), "the token alone")
}
