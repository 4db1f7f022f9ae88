package importer

import (
	"sync/atomic"
	"time"

	"pnyx/warehouse/source"
)

// Progress tracks a running import. Its methods may be called concurrently.
type Progress struct {
	started atomic.Int64 // in Unix nanoseconds
	records atomic.Int64
	// totalBytes is the size of all files, doneBytes the size of the files read.
	totalBytes atomic.Int64
	doneBytes  atomic.Int64
	current    atomic.Pointer[currentFile]
}

type currentFile struct {
	file   source.File
	reader *source.Reader
}

// Snapshot is the progress of an import at one point in time.
type Snapshot struct {
	Path      string        // the file that is being read; empty before the first
	Records   int64         // written
	Rate      float64       // in records per second
	Done      float64       // the fraction of all bytes that is read, from 0 to 1
	Remaining time.Duration // estimated; zero while there is no estimate
}

// Snapshot returns the current progress.
func (p *Progress) Snapshot() Snapshot {
	elapsed := time.Since(time.Unix(0, p.started.Load()))
	s := Snapshot{Records: p.records.Load()}
	read := p.doneBytes.Load()
	if current := p.current.Load(); current != nil {
		s.Path = current.file.Path
		read += current.reader.BytesRead()
	}
	if elapsed > 0 {
		s.Rate = float64(s.Records) / elapsed.Seconds()
	}
	if total := p.totalBytes.Load(); total > 0 {
		s.Done = min(float64(read)/float64(total), 1)
	}
	if s.Done > 0.01 && elapsed > time.Second {
		s.Remaining = time.Duration(float64(elapsed) * (1 - s.Done) / s.Done)
	}
	return s
}

func (p *Progress) start(files []source.File) {
	p.started.Store(time.Now().UnixNano())
	for _, file := range files {
		p.totalBytes.Add(file.Size)
	}
}

// nextFile records that the previous file is done and file is being read.
func (p *Progress) nextFile(file source.File, reader *source.Reader) {
	if previous := p.current.Swap(&currentFile{file, reader}); previous != nil {
		p.doneBytes.Add(previous.file.Size)
	}
}
