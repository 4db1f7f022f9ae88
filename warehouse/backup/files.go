package backup

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"pnyx/warehouse"
)

const (
	// listFile has a line for each file of a backup.
	listFile     = "/files.txt"
	maxListBytes = 128 << 20
)

// FileList is the list of a backup's files. The manifest's signature covers the list, and the list covers every
// file.
type FileList struct {
	// Bytes and SHA256 are size and hash of the list.
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

func (l FileList) check() error {
	if l.Bytes < 0 || l.Bytes > maxListBytes || !isDigest(l.SHA256) {
		return fmt.Errorf("list of files: %d bytes with hash %q: want at most %d bytes, and SHA-256 in hexadecimal", l.Bytes, l.SHA256, maxListBytes)
	}
	return nil
}

func isDigest(text string) bool {
	sum, err := hex.DecodeString(text)
	return err == nil && len(sum) == sha256.Size && strings.ToLower(text) == text
}

type storedFile struct {
	object
	// digest is its SHA-256 in hexadecimal; empty in backups of versions that made no list.
	digest string
}

// writeFiles reads every file of a backup where the server wrote it, and writes their list beside it.
func (s *session) writeFiles(ctx context.Context, m *Manifest) error {
	found, err := serverFiles(ctx, s.written(), m.Name)
	if err != nil {
		return err
	}
	sums := checking{session: s, total: size(found)}
	var text bytes.Buffer
	for _, file := range found {
		digest, err := sums.digest(ctx, file)
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%d %s %s\n", file.size, digest, strings.TrimPrefix(file.key, m.Name+"/"))
	}
	if text.Len() > maxListBytes {
		return fmt.Errorf("the list of files has %d bytes, more than the %d that are read", text.Len(), maxListBytes)
	}
	sum := sha256.Sum256(text.Bytes())
	m.Bytes, m.Files = size(found), &FileList{int64(text.Len()), hex.EncodeToString(sum[:])}
	return s.store.write(ctx, m.Name+listFile, bytes.NewReader(text.Bytes()), m.Files.Bytes)
}

// files returns the files of a backup by its list. Without a list they are what the store has.
func (s *session) files(ctx context.Context, m Manifest) ([]storedFile, error) {
	if m.Files == nil {
		return s.unlistedFiles(ctx, m)
	}
	text, err := readAll(ctx, s.store, m.Name+listFile, m.Files.Bytes)
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != m.Files.SHA256 {
		return nil, fmt.Errorf("%w: %s%s has another hash than the manifest states", errUnusable, m.Name, listFile)
	}
	files, err := parseFiles(text, m.Name)
	if total := size(objectsOf(files)); err == nil && total != m.Bytes {
		err = fmt.Errorf("%w: %s%s lists %d bytes, and the manifest states %d", errUnusable, m.Name, listFile, total, m.Bytes)
	}
	return files, err
}

// unlistedFiles returns the files of a backup that was made without a list.
func (s *session) unlistedFiles(ctx context.Context, m Manifest) (files []storedFile, err error) {
	found, err := serverFiles(ctx, s.store, m.Name)
	if err != nil {
		return nil, err
	}
	for _, file := range found {
		files = append(files, storedFile{object: file})
	}
	if total := size(found); total != m.Bytes {
		return nil, fmt.Errorf("%w: the files of %s have %d bytes, and the manifest states %d", errUnusable, m.Name, total, m.Bytes)
	}
	return files, nil
}

// serverFiles returns the files of a backup that the server wrote, without those that pnyx
// writes beside them, in order of their keys.
func serverFiles(ctx context.Context, at store, name string) ([]object, error) {
	found, err := at.list(ctx, name+"/")
	if err != nil {
		return nil, err
	}
	own := []string{name + manifestFile, name + signatureFile, name + listFile}
	found = slices.DeleteFunc(found, func(file object) bool { return slices.Contains(own, file.key) })
	slices.SortFunc(found, func(a, b object) int { return strings.Compare(a.key, b.key) })
	return found, nil
}

// parseFiles returns the files of a list, with the name of the backup before each.
func parseFiles(text []byte, name string) (files []storedFile, err error) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		bytes, rest, _ := strings.Cut(lines.Text(), " ")
		digest, key, _ := strings.Cut(rest, " ")
		size, err := strconv.ParseInt(bytes, 10, 64)
		if err != nil || size < 0 || !isDigest(digest) || !strings.HasPrefix(key, "shard-") {
			return nil, fmt.Errorf("%w: %s%s: line %d: want size, SHA-256 and name", errUnusable, name, listFile, len(files)+1)
		}
		file := storedFile{object{name + "/" + key, size}, digest}
		if err := checkKey(file.key); err != nil {
			return nil, fmt.Errorf("%w: %s%s: %w", errUnusable, name, listFile, err)
		}
		if len(files) > 0 && file.key <= files[len(files)-1].key || len(files) == maxObjects {
			return nil, fmt.Errorf("%w: %s%s: line %d: want at most %d names in their order", errUnusable, name, listFile, len(files)+1, maxObjects)
		}
		files = append(files, file)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%w: %s%s: %w", errUnusable, name, listFile, err)
	}
	return files, nil
}

func objectsOf(files []storedFile) []object {
	return warehouse.Values(files, func(file storedFile) object { return file.object })
}

func size(files []object) (total int64) {
	for _, file := range files {
		if total += file.size; total < 0 {
			return -1 // no sum of sizes
		}
	}
	return total
}

// checkFiles compares a backup where the server reads it with its list: the same files with their content, no
// others.
func (s *session) checkFiles(ctx context.Context, m Manifest, files []storedFile) error {
	found, err := serverFiles(ctx, s.written(), m.Name)
	if err != nil {
		return err
	}
	for i, file := range files {
		if i >= len(found) || found[i].key > file.key {
			return fmt.Errorf("%w: %s is missing", errUnusable, file.key)
		}
		if found[i].key < file.key {
			return fmt.Errorf("%w: %s is not in its list of files", errUnusable, found[i].key)
		}
	}
	if len(found) > len(files) {
		return fmt.Errorf("%w: %s is not in its list of files", errUnusable, found[len(files)].key)
	}
	return s.checkContent(ctx, files)
}

// checkContent compares the content of files where the server reads them with their digests, if any.
func (s *session) checkContent(ctx context.Context, files []storedFile) error {
	sums := checking{session: s, total: size(objectsOf(files))}
	for _, file := range files {
		if file.digest == "" {
			continue
		}
		got, err := sums.digest(ctx, file.object)
		if err != nil {
			return err
		}
		if got != file.digest {
			return fmt.Errorf("%w: %s has SHA-256 %s, want %s", errUnusable, file.key, got, file.digest)
		}
	}
	return nil
}

// checking reads files and reports how far it is.
type checking struct {
	*session
	done, total int64
}

// digest returns the SHA-256 of a file where the server reads it.
func (c *checking) digest(ctx context.Context, file object) (string, error) {
	content, err := c.written().read(ctx, file.key)
	if err != nil {
		return "", err
	}
	defer content.Close()
	sum := sha256.New()
	read, err := io.Copy(sum, io.LimitReader(content, file.size+1))
	if err == nil && read != file.size {
		err = fmt.Errorf("%w: it has not %d bytes", errUnusable, file.size)
	}
	if err = errors.Join(err, ctx.Err()); err != nil {
		return "", fmt.Errorf("read %s: %w", file.key, err)
	}
	c.done += file.size
	c.Progress("checking", uint64(c.done), uint64(c.total)) //nolint:gosec // sizes
	return hex.EncodeToString(sum.Sum(nil)), nil
}
