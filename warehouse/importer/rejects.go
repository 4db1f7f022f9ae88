package importer

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"pnyx/warehouse/source"
)

// maxRejectsBytes bounds the file of rejected lines: each is shorter than what is kept of it,
// so that a small file would fill a disk.
const maxRejectsBytes = 16 << 20

// rejectsFile is the file of the lines that an import rejected, one JSON object each. It is
// created with the first of them, and ends with the last that fits.
type rejectsFile struct {
	dir string
	// kept is how many lines it has, and bytes is its size. It is full once a line did not fit.
	kept  uint64
	bytes int
	full  bool
	// started is the start of the import, which names the file.
	started time.Time
	path    string
	file    *os.File
}

// write keeps a line, unless the file is full.
func (r *rejectsFile) write(rejected *source.RejectedError) error {
	if r.full {
		return nil
	}
	text, err := json.Marshal(rejected)
	if err != nil {
		return fmt.Errorf("encode a rejected line: %w", err)
	}
	if r.full = r.bytes+len(text)+1 > maxRejectsBytes; r.full {
		return nil
	}
	if r.file == nil {
		if err := r.create(); err != nil {
			return fmt.Errorf("create rejects file: %w", err)
		}
	}
	written, err := r.file.Write(append(text, '\n'))
	if err != nil {
		return fmt.Errorf("write rejects file %s: %w", r.path, err)
	}
	r.kept++
	r.bytes += written
	return nil
}

func (r *rejectsFile) create() error {
	if err := os.MkdirAll(r.dir, 0o750); err != nil {
		return err
	}
	name := "import-" + r.started.UTC().Format("20060102T150405.000Z") + ".ndjson"
	r.path = filepath.Join(r.dir, name)
	file, err := os.OpenFile(r.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	r.file = file
	return err
}

func (r *rejectsFile) close() error {
	if r.file == nil {
		return nil
	}
	if err := r.file.Close(); err != nil {
		return fmt.Errorf("close rejects file %s: %w", r.path, err)
	}
	return nil
}
