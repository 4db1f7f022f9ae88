// Package importer brings files of what upstream systems publish into the
// warehouse: it streams them, batch by batch, tells how far it is, and keeps what
// it has to refuse where it can be looked at. Running it again changes nothing,
// and completes what a run that was cut off left undone.
package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"pnyx/warehouse"
	"pnyx/warehouse/record"
	"pnyx/warehouse/source"
)

// maxBatchText bounds the text that one batch holds in memory, whatever its
// number of records.
const maxBatchText = 16 << 20

// Options says how to import.
type Options struct {
	Warehouse *warehouse.Warehouse
	// BatchSize is how many records are written at once.
	BatchSize int
	// MaxLineBytes is the longest line that is read, in bytes.
	MaxLineBytes int
	// RejectsDir is the folder that gets a file of what was refused, if anything was.
	RejectsDir string
	// TolerateRejects takes a file with refused lines for one that was read in full.
	TolerateRejects bool
	// Progress is told of every batch and every file; it may be nil.
	Progress *Progress
	Logger   *slog.Logger
}

// Report says what became of an import.
type Report struct {
	// Kinds holds the counts by kind of record.
	Kinds map[record.Kind]*KindReport
	// Rejected counts refused lines; RejectsFile holds them, if there are any.
	Rejected    uint64
	RejectsFile string
	// Problems are the files that could not be read, in whole or to their end.
	Problems []error
	// Waiting counts the ballots in the warehouse whose proposal is not there yet.
	Waiting  uint64
	Duration time.Duration
}

// KindReport counts the records of one kind.
type KindReport struct {
	warehouse.Counts
	Read, Rejected uint64
}

// Run imports the files under paths. An error means that the import stopped; what
// is wrong with a file or a line is in the report instead.
func Run(ctx context.Context, paths []string, o Options) (Report, error) {
	began := time.Now()
	files, problems := source.Find(paths)
	run := importRun{
		Options: o,
		run:     warehouse.Import{ID: uuid.New(), ObservedAt: began.UTC().Truncate(time.Millisecond)},
		report:  Report{Kinds: map[record.Kind]*KindReport{}, Problems: problems},
		rejects: rejectsFile{dir: o.RejectsDir, began: began},
		synced:  sourcesByKind{},
	}
	o.Progress.start(files)
	err := run.importAll(ctx, files)
	run.report.Duration = time.Since(began)
	return run.report, errors.Join(err, run.rejects.close())
}

// importRun is the work on one import.
type importRun struct {
	Options
	run     warehouse.Import
	report  Report
	rejects rejectsFile
	// synced holds the sources of the files that were read to their end.
	synced sourcesByKind
	shards *shards
}

func (r *importRun) importAll(ctx context.Context, files []source.File) error {
	r.shards = r.startShards(ctx)
	stopped := r.readFiles(files)
	if err := r.shards.close(); err != nil {
		return err
	}
	if stopped != nil {
		return stopped
	}
	r.countWritten()
	if err := r.markSynced(ctx); err != nil {
		return err
	}
	waiting, err := r.Warehouse.WaitingBallots(ctx)
	r.report.Waiting = waiting
	return err
}

// readFiles hands the records of all files to the lanes. What others refer to is
// written before them: between kinds everything is.
func (r *importRun) readFiles(files []source.File) error {
	for i, file := range files {
		if i > 0 && files[i-1].Kind != file.Kind {
			if err := r.shards.flush(); err != nil {
				return err
			}
		}
		if err := r.readFile(file); err != nil {
			return fmt.Errorf("%s: %w", file.Path, err)
		}
	}
	return nil
}

// readFile hands on the records of one file. What is wrong with the file itself goes
// into the report, and the import goes on.
func (r *importRun) readFile(file source.File) error {
	reader, err := source.Open(file, source.Limits{MaxLineBytes: r.MaxLineBytes})
	if err != nil {
		r.report.Problems = append(r.report.Problems, err)
		return nil
	}
	defer reader.Close()
	r.Progress.file(file, reader)
	f := fileImport{importRun: r, kind: file.Kind, sources: sourcesByKind{}}
	broken, err := f.readAll(reader)
	if err != nil {
		return err
	}
	if broken != nil {
		r.report.Problems = append(r.report.Problems, broken)
		return nil
	}
	if f.rejected == 0 || r.TolerateRejects {
		r.synced.merge(f.sources)
	}
	return nil
}

// fileImport is the work on one file.
type fileImport struct {
	*importRun
	kind     record.Kind
	sources  sourcesByKind
	rejected uint64
}

// readAll reads a file to its end and hands on everything that can be read.
func (f *fileImport) readAll(reader *source.Reader) (broken, err error) {
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
	return f.shards.add(r)
}

// reject keeps a refused line.
func (f *fileImport) reject(rejected *source.RejectedError, kind record.Kind) error {
	f.rejected++
	f.report.Rejected++
	report := f.kindReport(kind)
	report.Read++
	report.Rejected++
	if err := f.rejects.write(rejected); err != nil {
		return err
	}
	f.report.RejectsFile = f.rejects.path
	return nil
}

// countWritten sums up what became of the records in all lanes.
func (r *importRun) countWritten() {
	for _, lane := range r.shards.all {
		for kind, counts := range lane.counts {
			r.kindReport(kind).Add(counts)
		}
	}
}

func (r *importRun) kindReport(kind record.Kind) *KindReport {
	report := r.report.Kinds[kind]
	if report == nil {
		report = &KindReport{}
		r.report.Kinds[kind] = report
	}
	return report
}
