package cache_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/test/env"
)

// aView is a proposal with a body of so many bytes.
func aView(tb testing.TB, size int) cache.View {
	tb.Helper()
	title := "Deploy on another chain"
	body := strings.Repeat("x", size)
	until := governance.Timestamp(1709210096007)
	view := env.Must(cache.NewView(cache.View{
		Revision: 1709210096007123, DataAsOf: until, Readiness: governance.Ready, FreshUntil: &until,
	}, governance.ProposalDetail{
		ProposalKey: "p1_AAAAAAAAAAAAAAAAAAAAAA", Title: &title, BodyText: &body, LifecycleStatus: governance.Active,
		Choices: []governance.Choice{{Key: "1", Label: "For"}, {Key: "2", Label: "Against"}, {Key: "3", Label: "Abstain"}},
	}))(tb)
	return view
}

func TestAnEncodedViewBeginsWithItsRevision(t *testing.T) {
	t.Parallel()
	view := aView(t, 100)
	for revision, want := range map[uint64]string{
		0: "0000000000000000", 7: "0000000000000007", 1709210096007123: "1709210096007123", 9999999999999999: "9999999999999999",
	} {
		t.Run(want, func(t *testing.T) {
			view.Revision = revision
			value := view.Encode()
			env.Want(t, want, string(value[:16]), "revision", revision)
			env.WantSame(t, fmt.Sprintf("revision %d", revision), view, env.Must(cache.DecodeView(value))(t))
		})
	}
}

func TestAViewComesBackWhateverItsSize(t *testing.T) {
	t.Parallel()
	random := rand.NewChaCha8([32]byte{})
	for size := 1; size < 1<<20; size = size*3/2 + 1 {
		noise := make([]byte, size)
		_, _ = random.Read(noise) // it never fails
		for name, text := range map[string]string{"prose": strings.Repeat("For, Against. ", size/14+1), "noise": string(noise)} {
			view := env.Must(cache.NewView(cache.View{Revision: 7, Readiness: governance.Ready}, text))(t)
			value := view.Encode()
			if name == "prose" && size > 4096 && len(value) > size/4 {
				t.Errorf("%d bytes of prose are kept in %d", size, len(value))
			}
			if len(value) > len(text)+200 {
				t.Errorf("%d bytes of %s are kept in %d", size, name, len(value))
			}
			back, err := cache.DecodeView(value)
			if diff := cmp.Diff(view, back, cmp.Comparer(bytes.Equal)); err != nil || diff != "" {
				t.Errorf("%d bytes of %s: %v (-want +got):\n%s", size, name, err, diff)
			}
		}
	}
}

func FuzzDecodeView(f *testing.F) {
	f.Add(aView(f, 10).Encode())
	for _, broken := range brokenValues() {
		f.Add([]byte(broken))
	}
	f.Add([]byte("0000000000000007\xc1\xff\xff\xff\xff\x0fcompressed"))
	f.Fuzz(func(t *testing.T, value []byte) {
		view, err := cache.DecodeView(value)
		if err != nil {
			if !errors.Is(err, cache.ErrMiss) {
				t.Fatalf("got %v, want %v", err, cache.ErrMiss)
			}
			return
		}
		var detail governance.ProposalDetail
		if err := view.Decode(&detail); err != nil && !errors.Is(err, cache.ErrMiss) {
			t.Fatalf("payload: got %v, want %v", err, cache.ErrMiss)
		}
	})
}

// JSON has null for a nil list; the contract has [].
func TestAListWithoutMembersIsEmptyAndNotNil(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ stored, read any }{
		"a field":            {governance.VoteSummary{}, &governance.VoteSummary{}},
		"a field of rows":    {[]governance.ForumTopic{{}, {Tags: []string{"a"}}}, &[]governance.ForumTopic{}},
		"rows":               {[]governance.EventRow(nil), new([]governance.EventRow)},
		"an earlier version": {map[string]string{}, &governance.Evidence{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			view := env.Must(cache.NewView(cache.View{}, c.stored))(t)
			env.MustDo(t, view.Decode(c.read))
			read := fmt.Sprintf("%#v", c.read)
			if regexp.MustCompile(`\[\][A-Za-z.]+\(nil\)`).MatchString(read) {
				t.Errorf("got %s, want no nil list", read)
			}
		})
	}
}
