// Package importer imports files of upstream systems into the warehouse.
//
// [Run] streams the files in batches, reports progress through [Progress], and writes rejected lines to a file.
// Running an import again changes nothing; it completes an import that was interrupted.
package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
	"pnyx/warehouse/source"
)

// maxBatchText bounds the texts of one batch in bytes, whatever its number of records.
const maxBatchText = 16 << 20

// Options configure an import. Warehouse, BatchSize, RejectsDir and Logger are required.
type Options struct {
	Warehouse    *warehouse.Warehouse
	BatchSize    int    // the maximum number of records per INSERT
	MaxLineBytes int    // the maximum length of a line; 0 means source.DefaultMaxLineBytes
	RejectsDir   string // the folder for the file of rejected lines
	// TolerateRejects makes a file with rejected lines count as read completely: its sources are marked as synced.
	TolerateRejects bool
	// AsOf is as of when the records are; nil where that is not stated.
	AsOf     *governance.Timestamp
	Progress *Progress // nil for none
	Logger   *slog.Logger
}

// Report is the result of an import.
type Report struct {
	Kinds    map[record.Kind]*KindReport
	Rejected uint64 // the number of rejected lines
	// RejectsFile is the path of the file with the first RejectsKept rejected lines; empty if there are none.
	RejectsFile string
	RejectsKept uint64
	// Problems has an error for each file that could not be read completely.
	Problems []error
	// Ignored says which files of data in folders were not read; nil for none.
	Ignored error
	// Waiting is the number of ballots in the warehouse whose proposal is unknown.
	Waiting  uint64
	Duration time.Duration
}

// KindReport counts the records of one kind.
type KindReport struct {
	records.Counts
	Read, Rejected uint64 // lines; the rejected ones are among those read
}

// Run imports the files under paths. Invalid lines and unreadable files are in the
// report; an error means that the import stopped.
func Run(ctx context.Context, paths []string, o Options) (Report, error) {
	started := time.Now()
	files, problems := source.Find(paths, o.MaxLineBytes)
	run := importRun{
		Options: o,
		run: records.Import{
			ID: uuid.New(), ObservedAt: started.UTC().Truncate(time.Millisecond), AsOf: o.AsOf, Unread: records.NewUnreadBallots(),
		},
		report:  Report{Kinds: map[record.Kind]*KindReport{}},
		rejects: rejectsFile{dir: o.RejectsDir, started: started},
		synced:  sourcesByKind{}, lacking: sourcesByKind{}, unreadActions: map[record.RefHash]map[uint32]record.Record{},
	}
	for _, problem := range problems {
		if errors.Is(problem, source.ErrIgnored) {
			run.report.Ignored = problem
			continue
		}
		run.report.Problems = append(run.report.Problems, problem)
	}
	run.Progress = cmp.Or(o.Progress, &Progress{})
	run.Progress.start(files)
	err := run.importAll(ctx, files)
	run.report.Duration = time.Since(started)
	return run.report, errors.Join(err, run.rejects.close())
}

type importRun struct {
	Options
	run     records.Import
	report  Report
	rejects rejectsFile
	// synced holds the sources whose files were read completely, and lacking the sources of other files.
	synced, lacking sourcesByKind
	// openGaps are those before the run, and files what each file has and lacks.
	openGaps map[uint64]map[record.RefHash]bool
	files    []*fileGaps
	shards   *shards
	// unreadActions stand for rejected ones, by proposal and index.
	unreadActions map[record.RefHash]map[uint32]record.Record
}

func (r *importRun) importAll(ctx context.Context, files []source.File) error {
	err := r.retry(ctx, func() (err error) {
		r.openGaps, err = records.OpenBallotGaps(ctx, r.Warehouse)
		return err
	})
	if err != nil {
		return err
	}
	stopped := r.readFiles(ctx, files)
	if err := errors.Join(stopped, r.writeGaps(ctx, stopped != nil)); err != nil {
		return err
	}
	if err := r.retry(ctx, func() error { return r.writeUnreadActions(ctx) }); err != nil {
		return err
	}
	if err := r.markSynced(ctx, r.synced, false); err != nil {
		return err
	}
	if err := r.markSynced(ctx, r.lacking, true); err != nil {
		return err
	}
	return r.retry(ctx, func() (err error) {
		r.report.Waiting, err = records.WaitingBallots(ctx, r.Warehouse)
		return err
	})
}

// readFiles sends the records of all files to shards. The shards of one kind end before those of the
// next begin, so that records are written before those that refer to them.
func (r *importRun) readFiles(ctx context.Context, files []source.File) error {
	for i, file := range files {
		if i == 0 || files[i-1].Kind != file.Kind {
			r.shards = r.startShards(ctx)
		}
		readErr := r.readFile(file)
		if readErr == nil && i+1 < len(files) && files[i+1].Kind == file.Kind {
			continue
		}
		if err := r.shards.close(); err != nil {
			return err
		}
		if readErr != nil {
			return fmt.Errorf("%s: %w", file.Path, readErr)
		}
	}
	return nil
}

// readFile sends the records of a file to the shards, or reports a problem with it; an error stops the import.
func (r *importRun) readFile(file source.File) error {
	reader, err := source.Open(file, r.MaxLineBytes)
	if err != nil {
		r.report.Problems = append(r.report.Problems, err)
		return nil
	}
	defer reader.Close()
	r.Progress.nextFile(file, reader)
	f := fileImport{importRun: r, kind: file.Kind, sources: sourcesByKind{}, gaps: &fileGaps{
		proposals: map[record.RefHash]bool{}, met: map[uint64]bool{0: true},
	}}
	r.files = append(r.files, f.gaps)
	problem, err := f.readAll(reader)
	f.gaps.lacksSome = f.gaps.lacksSome || problem != nil
	if err != nil {
		return err
	}
	into := r.synced
	if problem != nil {
		r.report.Problems, into = append(r.report.Problems, problem), r.lacking
	} else if f.rejected > 0 && !r.TolerateRejects {
		into = r.lacking
	}
	for kind, refs := range f.sources {
		for ref := range refs {
			into.add(kind, ref)
		}
	}
	return nil
}

type fileImport struct {
	*importRun
	kind     record.Kind
	sources  sourcesByKind
	gaps     *fileGaps
	rejected uint64
}

// readAll sends all records of a file to the shards. problem ended the file early; err stops the import.
func (f *fileImport) readAll(reader *source.Reader) (problem, err error) {
	for {
		next, err := reader.Next()
		var rejected *source.RejectedError
		switch {
		case err == nil:
			if err := f.add(next); err != nil {
				return nil, err
			}
		case errors.As(err, &rejected):
			if err := f.reject(rejected, f.kind); err != nil {
				return nil, err
			}
		case errors.Is(err, io.EOF):
			return nil, nil
		default:
			return err, nil
		}
	}
}

func (f *fileImport) add(r record.Record) error {
	f.kindReport(r.Kind()).Read++
	if ref, known := sourceOf(r); known {
		f.sources.add(r.Kind(), ref)
	}
	if ballot, is := r.(*record.Ballot); is {
		f.noteBallot(ballot)
	}
	p, is := r.(*record.Proposal)
	if !is {
		return f.shards.add(r)
	}
	for _, of := range record.WithActions([]record.Record{p}) {
		if of != r {
			f.kindReport(of.Kind()).Read++
		}
		if err := f.shards.add(of); err != nil {
			return err
		}
	}
	return nil
}

func (f *fileImport) reject(rejected *source.RejectedError, kind record.Kind) error {
	f.rejected++
	f.noteReject(rejected.Record, kind)
	if rejected.Record != nil {
		kind = rejected.Record.Kind()
	}
	if ref, known := sourceOf(rejected.Record); known && ref.ID != "" && !f.TolerateRejects {
		f.lacking.add(kind, ref) // the file may have no other record of it
	}
	f.report.Rejected++
	report := f.kindReport(kind)
	report.Read++
	report.Rejected++
	if err := f.rejects.write(rejected); err != nil {
		return err
	}
	f.report.RejectsFile, f.report.RejectsKept = f.rejects.path, f.rejects.kept
	return nil
}

func (r *importRun) kindReport(kind record.Kind) *KindReport {
	report := r.report.Kinds[kind]
	if report == nil {
		report = &KindReport{}
		r.report.Kinds[kind] = report
	}
	return report
}
