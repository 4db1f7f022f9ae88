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

// maxSniffedLines bounds the lines in which Find looks for the first record: enough to
// skip some invalid lines, too few to read a large file of another format.
const maxSniffedLines = 100

// File is a file to import. Find fills it in; Open takes it.
type File struct {
	Path string // as the caller named it or Find found it
	// Kind is empty for a canonical file, whose lines may be of several kinds, and for a file without records.
	Kind   record.Kind
	Format Format // empty for a file without records
	Host   string // of the forum; for Discourse formats only
	Size   int64  // in bytes on disk
}

// Find lists the files under paths in import order, each file once. The order is by
// kind of record, as [record.Kinds] lists them, then by path; canonical files and then
// files without records come last.
//
// In folders, and in those that links in them lead to, Find takes files whose names end in
// .ndjson or .jsonl, with or without .gz. A path to a file may have any name.
//
// problems has an error for each path that cannot be read and for each file whose
// first record matches no format, and one for all of ErrIgnored. The other files are listed.
//
// maxLine is as for [Open].
func Find(paths []string, maxLine int) (files []File, problems []error) {
	found := fileSearch{seen: map[string]bool{}}
	for _, path := range paths {
		found.add(path)
	}
	if len(found.ignored) > 0 {
		found.problems = append(found.problems, fmt.Errorf("%w: %d other files, such as %s", ErrIgnored, len(found.ignored), found.ignored[0]))
	}
	for _, file := range found.files {
		if err := file.sniff(lineLimit(maxLine)); err != nil {
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

func (f File) rank() int {
	if f.Format == "" {
		return len(record.Kinds()) + 1
	}
	return importRank(f.Kind)
}

// ErrIgnored reports files of data in folders that are of no format of imports. It stops nothing.
var ErrIgnored = errors.New("folders are searched for *.ndjson and *.jsonl alone")

// fileSearch collects files without opening them.
type fileSearch struct {
	// ignored are the files of ErrIgnored.
	ignored  []string
	files    []File
	problems []error
	// seen holds the resolved paths of files, and of folders that a path or a link leads to.
	seen map[string]bool
}

func (s *fileSearch) add(path string) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		s.problems = append(s.problems, err)
	case info.IsDir():
		if !s.addFolder(path) {
			s.problems = append(s.problems, fmt.Errorf("%s: contains no file named *.ndjson or *.jsonl, with or without .gz", path))
		}
	default:
		s.addFile(path, info)
	}
}

// addFolder adds the files below a folder marked for import. It reports whether there are any, or were before.
func (s *fileSearch) addFolder(folder string) (matched bool) {
	truePath := resolve(folder)
	if s.seen[truePath] {
		return true
	}
	s.seen[truePath] = true
	// With the separator a folder that is a link is entered.
	err := filepath.WalkDir(folder+string(filepath.Separator), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			s.problems = append(s.problems, err)
			return nil
		}
		if entry.IsDir() {
			return nil
		}
		info, err := os.Stat(path)
		if err == nil && info.IsDir() { // by a link
			matched = s.addFolder(path) || matched
			return nil
		}
		if !hasImportName(path) {
			if isCompressedOtherwise(path) {
				s.problems = append(s.problems, fmt.Errorf("%s: want a file compressed by gzip, or by nothing", path))
			} else if isOtherData(path) {
				s.ignored = append(s.ignored, path)
			}
			return nil
		}
		matched = true
		if err != nil {
			s.problems = append(s.problems, err)
			return nil
		}
		s.addFile(path, info)
		return nil
	})
	if err != nil {
		s.problems = append(s.problems, err)
	}
	return matched
}

// addFile adds a regular file unless it was added under another path.
func (s *fileSearch) addFile(path string, info fs.FileInfo) {
	if !info.Mode().IsRegular() {
		s.problems = append(s.problems, fmt.Errorf("%s: not a regular file", path))
		return
	}
	if truePath := resolve(path); !s.seen[truePath] {
		s.seen[truePath] = true
		s.files = append(s.files, File{Path: path, Size: info.Size()})
	}
}

// resolve returns the absolute path without symbolic links, so that a file has one path; on failure, path itself.
func resolve(path string) string {
	if linked, err := filepath.EvalSymlinks(path); err == nil {
		path = linked
	}
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	return path
}

// isCompressedOtherwise reports whether the name of a file would mark it for import if gzip had compressed it.
func isCompressedOtherwise(path string) bool {
	ending := filepath.Ext(path)
	return slices.Contains([]string{".zst", ".zstd", ".bz2", ".xz", ".lz4", ".br", ".zip"}, strings.ToLower(ending)) &&
		hasImportName(strings.TrimSuffix(path, ending))
}

// isOtherData reports whether the name of a file in a folder is one of data that somebody may mean to import.
func isOtherData(path string) bool {
	ending := filepath.Ext(strings.TrimSuffix(strings.ToLower(path), ".gz"))
	return slices.Contains([]string{".csv", ".tsv", ".json", ".parquet"}, ending)
}

// hasImportName reports whether the name of a file in a folder marks it for import.
func hasImportName(path string) bool {
	name := strings.TrimSuffix(strings.ToLower(path), ".gz")
	return strings.HasSuffix(name, ".ndjson") || strings.HasSuffix(name, ".jsonl")
}

// sniff sets Format, Kind and Host from the first record; the file may be truncated after it.
func (f *File) sniff(maxLine int) (err error) {
	from, err := openStream(f.Path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.close()) }()

	if err := f.sniffLines(&lines{from: from.text, limit: maxLine}); err != nil {
		return err
	}
	format := f.Format.lookup()
	if format == nil {
		return nil
	}
	f.Kind = format.kind
	if format.needsHost {
		f.Host, err = hostOf(f.Path)
	}
	return err
}

// sniffLines sets Format from the first line that matches a format. It is an error if there are lines and none of
// the first ones matches.
func (f *File) sniffLines(from *lines) error {
	var first string
	for sniffed := 0; sniffed < maxSniffedLines; {
		text, tooLong, err := from.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("%s: line %d: %w", f.Path, from.number, explainTruncation(err))
		}
		if text = text[skipSpace(text, 0):]; len(text) == 0 {
			continue
		}
		sniffed++
		if tooLong {
			first = cmp.Or(first, fmt.Sprintf("is longer than %d bytes", from.limit))
			continue
		}
		format, mismatch := sniffLine(text)
		if format != nil {
			f.Format = format.name
			return nil
		}
		first = cmp.Or(first, mismatch)
	}
	if first == "" {
		return nil
	}
	return fmt.Errorf("%s: unknown file format: first record %s; want one of %s",
		f.Path, first, describeFormats())
}

func sniffLine(text []byte) (f *format, mismatch string) {
	var l line
	in, ok := l.open(text)
	if ok {
		return formatOf(in), "has fields " + fieldNames(in)
	}
	if err := checkJSON(text); err != nil {
		return nil, "is " + err.Error()
	}
	return nil, "is " + string(typeOf(text))
}

// describeFormats lists every format with typical fields, for error messages.
func describeFormats() string {
	var all []string
	for _, f := range formatsInImportOrder() {
		all = append(all, fmt.Sprintf("%s (%s)", f.name, f.fields))
	}
	return strings.Join(all, "; ")
}
