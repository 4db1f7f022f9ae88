package source

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pnyx/warehouse/record"
)

// sniffedLines is among how many lines the first record of a file is looked for:
// enough to pass over some dirt, too few to read through a foreign file.
const sniffedLines = 100

// File is a file to import.
type File struct {
	// Path is where the file is, as it was named or found.
	Path string
	// Kind is the kind of its records; empty for a canonical file, whose lines may
	// be of several kinds, and for a file without records.
	Kind record.Kind
	// Format is the shape of its lines; empty for a file without records.
	Format Format
	// Host is the host name of the forum, for Discourse formats only.
	Host string
	// Size is the number of bytes on disk.
	Size int64
}

// Find lists the files to read under paths, each once, in an order in which they
// should be imported: by kind, what others refer to first, then by path;
// canonical files, and then files without records, come last. Folders are
// searched for names that end in .ndjson or .jsonl, or either with .gz; links
// to folders in them are not followed. A file that is named itself is taken
// whatever its name.
//
// The problems are one for each path that cannot be read and for each file whose
// first record has no shape that Pnyx knows; the other files are listed still.
func Find(paths []string) (files []File, problems []error) {
	found := search{seen: map[string]bool{}}
	for _, path := range paths {
		found.add(path)
	}
	for _, file := range found.files {
		if err := file.sniff(); err != nil {
			found.problems = append(found.problems, err)
			continue
		}
		files = append(files, file)
	}
	slices.SortStableFunc(files, func(a, b File) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Path, b.Path))
	})
	return files, found.problems
}

// rank orders files by import order.
func (f File) rank() int {
	if f.Format == "" {
		return len(record.Kinds()) + 1
	}
	if f.Kind == "" {
		return len(record.Kinds())
	}
	return slices.Index(record.Kinds(), f.Kind)
}

// search gathers files, without looking into them.
type search struct {
	files    []File
	problems []error
	// seen holds the true paths of the files gathered.
	seen map[string]bool
}

func (s *search) add(path string) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		s.problems = append(s.problems, err)
	case info.IsDir():
		s.addFolder(path)
	default:
		s.addFile(path, info)
	}
}

func (s *search) addFolder(folder string) {
	matched := false
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			s.problems = append(s.problems, err)
			return nil
		}
		if entry.IsDir() || !hasKnownName(path) {
			return nil
		}
		matched = true
		info, err := os.Stat(path)
		switch {
		case err != nil:
			s.problems = append(s.problems, err)
		case !info.IsDir():
			s.addFile(path, info)
		}
		return nil
	})
	if err != nil {
		s.problems = append(s.problems, err)
	}
	if !matched {
		s.problems = append(s.problems, fmt.Errorf("%s: no file below it is named *.ndjson or *.jsonl, with or without .gz", folder))
	}
}

func (s *search) addFile(path string, info fs.FileInfo) {
	if !info.Mode().IsRegular() {
		s.problems = append(s.problems, fmt.Errorf("%s: not a regular file", path))
		return
	}
	if truePath := resolve(path); !s.seen[truePath] {
		s.seen[truePath] = true
		s.files = append(s.files, File{Path: path, Size: info.Size()})
	}
}

// resolve returns one path for all paths that lead to a file.
func resolve(path string) string {
	if linked, err := filepath.EvalSymlinks(path); err == nil {
		path = linked
	}
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	return path
}

func hasKnownName(path string) bool {
	name := strings.TrimSuffix(strings.ToLower(path), ".gz")
	return strings.HasSuffix(name, ".ndjson") || strings.HasSuffix(name, ".jsonl")
}

// sniff tells the format from the first record. What can be read before a file
// breaks off is enough.
func (f *File) sniff() (err error) {
	from, err := openStream(f.Path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.close()) }()

	if err := f.sniffLines(&lines{from: from.text, most: DefaultMaxLine}); err != nil {
		return err
	}
	f.Kind = f.Format.Kind()
	if f.Format.needsHost() {
		f.Host, err = hostOf(f.Path)
	}
	return err
}

// sniffLines looks for a line of a known shape among the first ones.
func (f *File) sniffLines(from *lines) error {
	var first string
	for range sniffedLines {
		text, tooLong, err := from.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("%s: line %d: %w", f.Path, from.number, brokenOff(err))
		}
		if text = skipSpace(text); len(text) == 0 {
			continue
		}
		format, seen := shapeOf(text, tooLong)
		if format != "" {
			f.Format = format
			return nil
		}
		first = cmp.Or(first, seen)
	}
	if first == "" {
		return nil
	}
	return fmt.Errorf("%s: not a kind of file Pnyx reads: first record %s; want one of %s", f.Path, first, knownShapes())
}

// shapeOf returns the format of a line or, where it has none, what is there
// instead.
func shapeOf(text []byte, tooLong bool) (format Format, seen string) {
	if tooLong {
		return "", fmt.Sprintf("is longer than %d bytes", DefaultMaxLine)
	}
	if err := checkJSON(text); err != nil {
		return "", "is " + err.Error()
	}
	if found := kindOf(text); found != kindObject {
		return "", "is " + string(found)
	}
	var l line
	in := l.open(text)
	return formatOf(in), "has fields " + fieldNames(in)
}

func knownShapes() string {
	var shapes []string
	for _, format := range Formats() {
		shapes = append(shapes, fmt.Sprintf("%s (%s)", format, format.fields()))
	}
	return strings.Join(shapes, "; ")
}
