package demo_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pnyx/demo"
	"pnyx/test/env"
)

// golden is the hash of the decompressed files of the options small. It changes with the
// generator; it must not depend on the machine or the compressor.
const golden = "ca0ae0d82640d9759d4169c04a1cca61ce7e7e0d9f04c94f4e7f42e01a20a72c"

func small() demo.Options {
	return demo.Options{Seed: 7, DAOs: 9, Proposals: 60, Ballots: 2_500, Largest: 600, Now: now}
}

func TestOtherSeedsGiveOtherData(t *testing.T) {
	t.Parallel()
	other := small()
	other.Seed++
	first, _ := write(t, small())
	second, _ := write(t, other)
	if cmp.Equal(hashes(t, first, os.ReadFile), hashes(t, second, os.ReadFile)) {
		t.Error("got the same files from two seeds, want others")
	}
}

func TestDataIsTheSameOnEveryMachine(t *testing.T) {
	t.Parallel()
	dir, _ := write(t, small())
	unpacked := func(path string) ([]byte, error) { return content(t, path), nil }
	sum := sha256.New()
	for _, hash := range hashes(t, dir, unpacked) {
		fmt.Fprintln(sum, hash)
	}
	env.Want(t, golden, hex.EncodeToString(sum.Sum(nil)), "data with hash")
}

// hashes returns the name and the hash of every file in a folder, in order.
func hashes(t *testing.T, dir string, read func(string) ([]byte, error)) []string {
	t.Helper()
	var all []string
	env.MustDo(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := read(path)
		name, _ := strings.CutPrefix(path, dir)
		all = append(all, fmt.Sprintf("%s %x", filepath.ToSlash(name), sha256.Sum256(text)))
		return err
	}))
	return all
}

func TestDataHasTheNumbersOfItsOptions(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]demo.Options{
		"a small set":                   {Seed: 1, DAOs: 9, Proposals: 60, Ballots: 2_500, Largest: 600},
		"a demo":                        demo.Demo(now),
		"no ballots":                    {Seed: 2, DAOs: 20, Proposals: 100},
		"one ballot":                    {Seed: 2, DAOs: 20, Proposals: 100, Ballots: 1, Largest: 1},
		"one DAO, one proposal":         {Seed: 3, DAOs: 1, Proposals: 1, Ballots: 30, Largest: 30},
		"two DAOs":                      {Seed: 3, DAOs: 2, Proposals: 5, Ballots: 100, Largest: 60},
		"all ballots in one proposal":   {Seed: 4, DAOs: 10, Proposals: 100, Ballots: 500, Largest: 500},
		"one proposal for each DAO":     {Seed: 5, DAOs: 60, Proposals: 60, Ballots: 1_000, Largest: 100},
		"fewer ballots than proposals":  {Seed: 6, DAOs: 10, Proposals: 400, Ballots: 350, Largest: 20},
		"many ballots, nearly no room":  {Seed: 7, DAOs: 4, Proposals: 20, Ballots: 1_500, Largest: 100},
		"a thousand ballots a proposal": {Seed: 8, DAOs: 3, Proposals: 15, Ballots: 9_000, Largest: 3_000},
		"largest just above all others": {Seed: 9, DAOs: 5, Proposals: 40, Ballots: 1_000, Largest: 40},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o.Now = now
			dir, summary := write(t, o)
			checkNumbers(t, o, read(t, dir), summary)
		})
	}
}

func checkNumbers(t *testing.T, o demo.Options, d data, summary demo.Summary) {
	t.Helper()
	expect := func(what string, got, want int) {
		t.Helper()
		env.Want(t, want, got, what)
	}
	expect("proposals", len(d.proposals)+len(d.onChain), o.Proposals)
	expect("ballots", len(d.votes)+len(d.onChainVotes), o.Ballots)
	expect("DAOs", len(daoOfSources(d)), o.DAOs)

	ballots := ballotsPerProposal(d)
	sizes := make([]int, 0, len(ballots))
	for _, n := range ballots {
		sizes = append(sizes, n)
	}
	slices.Sort(sizes)
	if n := len(sizes); n > 0 {
		expect("ballots of the largest proposal", sizes[n-1], o.Largest)
		expect("ballots of the proposal named as the largest", ballots[summary.LargestProposal], o.Largest)
	}
	if n := len(sizes); n > 1 && sizes[n-2] == o.Largest {
		t.Error("got two largest proposals, want one")
	}
	expect("ballots in the summary", summary.Ballots, o.Ballots)
	expect("Snapshot proposals in the summary", summary.Proposals, len(d.proposals))
	expect("on-chain proposals in the summary", summary.OnChain, len(d.onChain))
	expect("spaces in the summary", summary.Spaces, len(d.spaces))
	expect("organizations in the summary", summary.Organizations, len(d.organizations))
	expect("forums in the summary", summary.Forums, len(d.categories))
	expect("topics in the summary", summary.Topics, countTopics(d))
}

// ballotsPerProposal counts ballot lines by proposal.
func ballotsPerProposal(d data) map[string]int {
	count := map[string]int{}
	for _, vote := range d.votes {
		count[vote.Proposal.ID]++
	}
	for _, vote := range d.onChainVotes {
		count[vote.Proposal.ID]++
	}
	return count
}

func countTopics(d data) int {
	n := 0
	for _, topics := range d.topics {
		n += len(topics)
	}
	return n
}

// daoOfSources returns the sources of every DAO. A source that daos.ndjson does not list
// is a DAO of its own.
func daoOfSources(d data) map[string][]string {
	owner := map[string]string{}
	for _, dao := range d.daos {
		for _, source := range dao.Sources {
			owner[source.Provider+" "+source.ID] = dao.DAOID
		}
	}
	all := map[string][]string{}
	add := func(provider, id string) {
		dao, listed := owner[provider+" "+id]
		if !listed {
			dao = id
		}
		all[dao] = append(all[dao], provider+" "+id)
	}
	for _, space := range d.spaces {
		add("snapshot", space.ID)
	}
	for _, organization := range d.organizations {
		add("tally", organization.Slug)
	}
	for host := range d.categories {
		add("discourse", host)
	}
	return all
}

func TestInvalidOptionsAreRejected(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*demo.Options)
		want   string
	}{
		"no DAOs":                 {func(o *demo.Options) { o.DAOs = 0 }, "--daos is 0"},
		"more DAOs than names":    {func(o *demo.Options) { o.DAOs, o.Proposals = 1_000_000, 1_000_000 }, "--daos is 1000000"},
		"fewer proposals than":    {func(o *demo.Options) { o.Proposals = 8 }, "--proposals is 8"},
		"more than memory has":    {func(o *demo.Options) { o.Proposals = math.MaxInt }, "to 50000000"},
		"negative ballots":        {func(o *demo.Options) { o.Ballots = -1 }, "--ballots is -1"},
		"negative largest":        {func(o *demo.Options) { o.Largest = -1 }, "--largest is -1"},
		"largest above ballots":   {func(o *demo.Options) { o.Largest = 2_501 }, "--largest is 2501"},
		"ballots without largest": {func(o *demo.Options) { o.Largest = 0 }, "--largest is 0"},
		"no room":                 {func(o *demo.Options) { o.Ballots = 60 * 600 }, "--ballots leaves 35395"},
		"no time":                 {func(o *demo.Options) { o.Now = time.Time{} }, "no end time"},
		"no folder":               {func(o *demo.Options) { o.Dir = "" }, "no folder given"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := small()
			o.Dir = filepath.Join(t.TempDir(), "data")
			test.change(&o)
			_, err := demo.Write(t.Context(), o, nil)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error that says %q", err, test.want)
			}
			if _, err := os.Stat(o.Dir); o.Dir != "" && !os.IsNotExist(err) {
				t.Errorf("got %v for the folder, want it not to exist", err)
			}
		})
	}
}

func TestFolderWithFilesIsRejected(t *testing.T) {
	t.Parallel()
	o := small()
	o.Dir = t.TempDir()
	kept := filepath.Join(o.Dir, "kept.txt")
	env.MustDo(t, os.WriteFile(kept, []byte("kept"), 0o600))
	if _, err := demo.Write(t.Context(), o, nil); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("got %v, want an error that says the folder is not empty", err)
	}
	if names := glob(t, o.Dir, "*"); !slices.Equal(names, []string{"kept.txt"}) {
		t.Errorf("got files %v, want only the one that was there", names)
	}
}

func TestInvalidFolderIsRejected(t *testing.T) {
	t.Parallel()
	o := small()
	file := filepath.Join(t.TempDir(), "file")
	env.MustDo(t, os.WriteFile(file, nil, 0o600))
	for name, dir := range map[string]string{"a file": file, "below a file": filepath.Join(file, "below")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := o
			o.Dir = dir
			if _, err := demo.Write(t.Context(), o, nil); err == nil {
				t.Errorf("got no error writing to %s, want one", dir)
			}
		})
	}
}

func TestStorageErrorIsReported(t *testing.T) {
	t.Parallel()
	o := small()
	o.Ballots, o.Dir = 60_000, t.TempDir()
	o.Largest = 30_000
	votes := filepath.Join(o.Dir, "snapshot", "votes") // where each DAO gets its files
	putInTheWay := sync.OnceFunc(func() {
		env.MustDo(t, os.Rename(votes, votes+".earlier"))
		env.MustDo(t, os.WriteFile(votes, nil, 0o600))
	})
	_, err := demo.Write(t.Context(), o, func(int64, int64) { putInTheWay() })
	env.WantError(t, syscall.ENOTDIR, err, "an error that says what is in the way")
}

func TestWriteStopsWhenCanceled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	o := demo.Options{Seed: 1, DAOs: 5, Proposals: 50, Ballots: 400_000, Largest: 200_000, Now: now, Dir: t.TempDir()}
	var reached int64
	_, err := demo.Write(ctx, o, func(done, _ int64) {
		reached = done
		cancel()
	})
	env.WantError(t, context.Canceled, err)
	if reached > 200_000 {
		t.Errorf("got %d ballots after the first report, want it to stop there", reached)
	}
}

func TestProgressRisesToTheTotal(t *testing.T) {
	t.Parallel()
	o := demo.Options{Seed: 1, DAOs: 5, Proposals: 50, Ballots: 60_000, Largest: 30_000, Now: now, Dir: t.TempDir()}
	var reports []int64
	env.Must(demo.Write(t.Context(), o, func(done, total int64) {
		reports = append(reports, done)
		env.Want(t, 60_000, total, "a total of")
	}))(t)
	if !slices.IsSorted(reports) || len(reports) < 3 || reports[len(reports)-1] != 60_000 {
		t.Errorf("got reports %v, want several that rise to 60000", reports)
	}
}
