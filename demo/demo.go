// Package demo generates invented governance data: files in the formats and the
// folder layout in which Snapshot, Tally and Discourse publish theirs. It serves load
// tests and a first look at a running service.
//
// [Write] generates a data set from [Options]; [Demo] returns the options of a small
// one. The same options give the same bytes on every machine. All names are invented,
// and memory does not grow with the number of ballots.
//
// Sizes are heavy-tailed as in real data: a few large DAOs and proposals, many small
// ones, and voters whose activity follows a power law. So are the defects: missing
// times and titles, recasts, repeated lines, empty votes, powers in every notation,
// ballots whose proposal is unknown. Every vote type occurs. Stated totals equal the
// sums of the ballots to the last digit, except in proposals chosen to differ.
package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// Options describe the data set to generate.
type Options struct {
	// Seed selects one of many data sets.
	Seed uint64
	// DAOs is the number of DAOs, including those that daos.ndjson does not list.
	DAOs int
	// Proposals is the number of proposals, off chain and on chain.
	Proposals int
	// Ballots is the number of ballot lines, including recasts and repeats.
	Ballots int
	// Largest is the number of ballots of the largest proposal. Every other proposal
	// has fewer.
	Largest int
	// Now is the end of the history. Some votes are open then, and some are pending.
	Now time.Time
	// Dir is the folder to write to. It must be empty or not exist.
	Dir string
}

// Demo returns the options of a small data set that has data for every endpoint. The
// caller sets Dir.
func Demo(now time.Time) Options {
	return Options{
		Seed: demoSeed, DAOs: 12, Proposals: 150, Ballots: 15_000, Largest: 4_000, Now: now,
	}
}

// Summary counts what was generated.
type Summary struct {
	// DAOs, Spaces, Organizations and Forums count the DAOs and their sources.
	DAOs, Spaces, Organizations, Forums int
	// Proposals counts Snapshot proposals, OnChain proposals of Governors.
	Proposals, OnChain int
	// Ballots counts ballot lines.
	Ballots int
	// Recasts counts ballots by voters who had voted on the proposal before.
	Recasts int
	// Repeats counts lines that repeat an earlier line exactly.
	Repeats int
	// Waiting counts ballots whose proposal does not exist.
	Waiting int
	// Topics counts forum topics.
	Topics int
	// LargestProposal is the Snapshot id of the largest proposal.
	LargestProposal string
	// ActiveVoter is the address of the voter with the most ballots.
	ActiveVoter string
}

// Write generates a data set. From time to time it calls progress, which may be nil,
// with the number of ballots written and their total. After an error, or when ctx is
// done, the folder holds an incomplete data set.
func Write(
	ctx context.Context, o Options, progress func(done, total int64),
) (Summary, error) {
	texts, err := loadTexts()
	if err != nil {
		return Summary{}, err
	}
	if err := o.validate(texts.words.shortNames() * len(texts.words.NameSuffixes)); err != nil {
		return Summary{}, err
	}
	plan, err := newPlan(o, newRandom())
	if err != nil {
		return Summary{}, err
	}
	if err := checkEmpty(o.Dir); err != nil {
		return Summary{}, err
	}
	g := newGenerator(o, plan, texts, progress)
	err = g.run(ctx)
	// An error of the archive is the cause of what failed after it.
	return g.summary, cmp.Or(g.archive.close(), err)
}

const maxProposals = 50_000_000 // a gigabyte of memory

func (o Options) validate(maxDAOs int) error {
	switch {
	case o.DAOs < 1 || o.DAOs > maxDAOs:
		return fmt.Errorf("--daos is %d; want 1 to %d, the number of DAO names", o.DAOs, maxDAOs)
	case o.Proposals < o.DAOs || o.Proposals > maxProposals:
		return fmt.Errorf("--proposals is %d; want one for each of the %d of --daos to %d", o.Proposals, o.DAOs, maxProposals)
	case o.Ballots < 0:
		return fmt.Errorf("--ballots is %d; want 0 or more", o.Ballots)
	case o.Largest < 0 || o.Largest > o.Ballots:
		return fmt.Errorf("--largest is %d; want 0 to the %d of --ballots", o.Largest, o.Ballots)
	case o.Largest == 0 && o.Ballots > 0:
		return fmt.Errorf("--largest is 0; want at least 1, since --ballots is %d", o.Ballots)
	case o.Dir == "":
		return errors.New("generate data: no folder given")
	case o.Now.IsZero():
		return errors.New("generate data: no end time given")
	}
	return nil
}

// checkEmpty returns an error if the folder contains anything: an import would read
// old files along with the new ones.
func checkEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read folder for generated data: %w", err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("folder for generated data: %s is not empty", dir)
	}
	return nil
}
