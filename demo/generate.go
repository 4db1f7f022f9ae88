// Package demo makes up governance data: a set of files in the shapes and the
// folder layout in which Snapshot, Tally and Discourse publish theirs, for load
// tests and for a first look at a running service.
//
// The same options give the same bytes on every machine. Sizes have heavy tails,
// as in real data: a few large DAOs and proposals, many small ones, and voters
// whose activity follows a power law. So does the dirt: missing times and titles,
// recasts, repeats, empty votes, powers in every notation, ballots whose proposal is
// unknown. Every vote type occurs, and upstream's stated totals agree with the
// ballots to the last digit except where they are meant not to.
//
// All names are invented. Memory does not grow with the number of ballots.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// Options say what to generate.
type Options struct {
	// Seed chooses one data set out of many.
	Seed uint64
	// DAOs is the number of DAOs, those included that daos.ndjson does not list.
	DAOs int
	// Proposals is the number of proposals, off and on chain.
	Proposals int
	// Ballots is the number of lines of ballots, recasts and repeats included.
	Ballots int
	// Largest is the number of those that the largest proposal has; every other
	// proposal has fewer.
	Largest int
	// Now is when the history ends: some votes are open then, and some about to be.
	Now time.Time
	// Dir is the folder to write to: a new or an empty one.
	Dir string
}

// Demo returns the options of the small data set that shows something at every
// endpoint. The caller sets Dir.
func Demo(now time.Time) Options {
	return Options{Seed: 508, DAOs: 12, Proposals: 150, Ballots: 15_000, Largest: 4_000, Now: now}
}

// Summary says what was generated.
type Summary struct {
	DAOs, Spaces, Organizations, Forums int
	// Proposals are Snapshot's, OnChain those of Governors.
	Proposals, OnChain int
	// Ballots counts lines. Recasts are those by voters who had voted on the same
	// proposal before, Repeats those that repeat a line exactly, Waiting those
	// whose proposal does not exist.
	Ballots, Recasts, Repeats, Waiting int
	Topics                             int
	// Bytes is the size of all files.
	Bytes int64
	// LargestProposal is Snapshot's id of the largest proposal, and ActiveVoter
	// the address of the voter with the most ballots.
	LargestProposal, ActiveVoter string
}

// Write generates a data set. Every now and then it calls progress, unless that is
// nil, with the ballots written so far and their number in all. After an error or
// when ctx is done, the folder holds an incomplete data set.
func Write(ctx context.Context, o Options, progress func(done, total int64)) (Summary, error) {
	words := newVocabulary()
	if err := o.validate(words.nouns.names()); err != nil {
		return Summary{}, err
	}
	plan, err := newPlan(o, newDice())
	if err != nil {
		return Summary{}, err
	}
	if err := checkEmpty(o.Dir); err != nil {
		return Summary{}, err
	}
	g := newGenerator(o, plan, words, progress)
	err = g.run(ctx)
	size, storing := g.archive.close()
	g.summary.Bytes = size
	// What was stored wrongly is the cause of what went wrong after it.
	if storing != nil {
		return g.summary, storing
	}
	return g.summary, err
}

// validate refuses options that no data set can meet.
func (o Options) validate(names int) error {
	switch {
	case o.DAOs < 1 || o.DAOs > names:
		return fmt.Errorf("--daos is %d; want 1 to %d, which is how many names there are", o.DAOs, names)
	case o.Proposals < o.DAOs:
		return fmt.Errorf("--proposals is %d; want at least one for each of the %d of --daos", o.Proposals, o.DAOs)
	case o.Ballots < 0:
		return fmt.Errorf("--ballots is %d; want 0 or more", o.Ballots)
	case o.Largest < 0 || o.Largest > o.Ballots:
		return fmt.Errorf("--largest is %d; want 0 to the %d of --ballots", o.Largest, o.Ballots)
	case o.Largest == 0 && o.Ballots > 0:
		return fmt.Errorf("--largest is 0; want at least 1, since --ballots is %d", o.Ballots)
	case o.Dir == "":
		return errors.New("no folder to write generated data to")
	case o.Now.IsZero():
		return errors.New("no time for generated data to end at")
	}
	return nil
}

// checkEmpty refuses a folder with anything in it, because files left over from
// another data set would be imported along with this one.
func checkEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look into folder for generated data: %w", err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("folder for generated data: %s is not empty", dir)
	}
	return nil
}
