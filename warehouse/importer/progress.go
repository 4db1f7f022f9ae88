package importer

import (
	"sync/atomic"
	"time"

	"pnyx/warehouse/source"
)

// Progress says how far an import is. Its methods may be called at any time, and
// a nil Progress ignores what it is told.
type Progress struct {
	began   atomic.Int64
	records atomic.Int64
	total   atomic.Int64
	done    atomic.Int64
	current atomic.Pointer[currentFile]
}

type currentFile struct {
	file   source.File
	reader *source.Reader
}

// Snapshot is how far an import is at one moment.
type Snapshot struct {
	// Path is the file that is being read; empty before the first.
	Path    string
	Records int64
	// Rate is in records a second.
	Rate float64
	// Done is the part of the bytes that is read, 0 to 1.
	Done float64
	// Remaining is how much longer it takes at this rate; zero while it is not known.
	Remaining time.Duration
}

// Snapshot returns how far the import is.
func (p *Progress) Snapshot() Snapshot {
	took := time.Since(time.Unix(0, p.began.Load()))
	s := Snapshot{Records: p.records.Load()}
	read := p.done.Load()
	if current := p.current.Load(); current != nil {
		s.Path = current.file.Path
		read += current.reader.BytesRead()
	}
	if took > 0 {
		s.Rate = float64(s.Records) / took.Seconds()
	}
	if total := p.total.Load(); total > 0 {
		s.Done = min(float64(read)/float64(total), 1)
	}
	if s.Done > 0.01 && took > time.Second {
		s.Remaining = time.Duration(float64(took) * (1 - s.Done) / s.Done)
	}
	return s
}

func (p *Progress) start(files []source.File) {
	if p == nil {
		return
	}
	p.began.Store(time.Now().UnixNano())
	for _, file := range files {
		p.total.Add(file.Size)
	}
}

// file says that the file before is done and another begun.
func (p *Progress) file(file source.File, reader *source.Reader) {
	if p == nil {
		return
	}
	if before := p.current.Swap(&currentFile{file, reader}); before != nil {
		p.done.Add(before.file.Size)
	}
}

func (p *Progress) wrote(records int) {
	if p != nil {
		p.records.Add(int64(records))
	}
}
