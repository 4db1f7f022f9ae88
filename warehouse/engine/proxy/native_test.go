package proxy

import (
	"bufio"
	"bytes"
	"strings"
	"testing"
)

// FuzzHello reads what strangers send first. A packet that is decoded is passed on as it
// was, and nothing after it is read.
func FuzzHello(f *testing.F) {
	const rest = "what follows"
	f.Add([]byte("\x00\x01a\x17\x01\x90\xa6\x03\x04pnyx\x07analyst\x06secret"))
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Add([]byte("\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Add([]byte("\x00\x80\x80\x01"))
	f.Fuzz(func(t *testing.T, sent []byte) {
		in := bufio.NewReader(strings.NewReader(string(sent) + rest))
		h, err := readHello(in)
		if err != nil {
			return
		}
		again, err := readHello(bufio.NewReader(bytes.NewReader(h.packet(h.database))))
		if err != nil || again.user != h.user || again.password != h.password || again.database != h.database {
			t.Fatalf("%q: got %+v (%v) when it is passed on, want %+v", sent, again, err, h)
		}
		if other, err := readHello(bufio.NewReader(bytes.NewReader(h.packet("views")))); err != nil || other.database != "views" || other.user != h.user {
			t.Fatalf("%q: got %+v (%v) with another database", sent, other, err)
		}
		if len(h.user)+len(h.password)+len(h.database) > 3*maxWord {
			t.Fatalf("%q: words are longer than their bound", sent)
		}
	})
}
