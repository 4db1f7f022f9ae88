package backup

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"pnyx/warehouse"
)

const (
	// metadataFile is where BACKUP lists the files of a shard, in XML.
	metadataFile = "/.backup"
	// maxMetadataBytes bounds it: 350 bytes a file.
	maxMetadataBytes = 256 << 20
	// maxTextBytes bounds what is between two tags, which the decoder keeps as a whole.
	maxTextBytes = 16 << 10
	// maxDepth is the depth of config, contents, file and its fields.
	maxDepth = 4
)

// isElement reports whether BACKUP writes an element inside of parents. Another one may name a place that the
// server reads from or writes to.
func isElement(parents, name string) bool {
	switch parents {
	case "":
		return name == "config"
	case "config":
		return slices.Contains([]string{
			"version", "deduplicate_files", "timestamp", "uuid", "backup_id", "base_backup", "base_backup_uuid", "contents",
		}, name)
	case "config/contents":
		return name == "file"
	case "config/contents/file":
		return slices.Contains([]string{
			"name", "size", "checksum", "use_base", "base_size", "base_checksum", "data_file", "encrypted_by_disk",
		}, name)
	}
	return false
}

// metadata checks the list of one shard's files before the server reads it: RESTORE takes
// from it what to read and what to write, also outside of the backup.
type metadata struct {
	// database is the name of the database, and tables are the names of its tables, as the
	// server writes them in paths.
	database string
	tables   []string
	// incremental allows a base.
	incremental bool

	path []string
	text strings.Builder
	// seen are the elements since the current file began.
	seen []string
	// ended says that the outermost element has ended.
	ended bool
	// stored is the number of bytes that the files before the current one have in this backup,
	// size that of the current file, and own what it has of them in this backup.
	stored, size, own int64
}

func metadataOf(m Manifest, shard int) *metadata {
	names := warehouse.Values(m.Shards[shard], func(table warehouse.TableContent) string { return table.Name })
	return &metadata{database: warehouse.EscapeForPath(m.Database), tables: names, incremental: m.Base != ""}
}

// check returns errUnusable unless the list has only what BACKUP writes for the tables, and the
// number of bytes that the listed files have in this backup.
func (c *metadata) check(list io.Reader) (stored int64, err error) {
	decoder := xml.NewDecoder(&tagReader{from: io.LimitReader(list, maxMetadataBytes+1), total: maxMetadataBytes})
	for {
		token, err := decoder.RawToken()
		if errors.Is(err, io.EOF) && c.ended {
			return c.stored + c.own, nil
		}
		if err == nil {
			err = c.token(token)
		}
		if err != nil {
			return 0, fmt.Errorf("%w: list of its files: %w", errUnusable, err)
		}
	}
}

func (c *metadata) token(token xml.Token) error {
	switch token := token.(type) {
	case xml.StartElement:
		return c.open(token)
	case xml.EndElement:
		return c.close(token)
	case xml.CharData:
		if c.text.Len()+len(token) > maxTextBytes {
			return fmt.Errorf("a text has more than %d bytes", maxTextBytes)
		}
		c.text.Write(token)
		return nil
	}
	return errors.New("it has more than elements and texts")
}

func (c *metadata) open(element xml.StartElement) error {
	name := element.Name.Local
	parents := strings.Join(c.path, "/")
	known := isElement(parents, name) && !c.ended && !slices.Contains(c.seen, parents+"/"+name)
	if name == "file" {
		c.seen = c.seen[:0]
		c.stored, c.own = c.stored+c.own, 0
	} else {
		c.seen = append(c.seen, parents+"/"+name)
	}
	if !known || element.Name.Space != "" || len(element.Attr) > 0 || strings.TrimSpace(c.text.String()) != "" {
		return fmt.Errorf("element %q in %q is unknown or there twice", name[:min(len(name), maxKeyBytes)], parents)
	}
	if (name == "base_backup" || name == "use_base" || name == "base_size") && !c.incremental {
		return errors.New("it names a base, and the backup is a full one")
	}
	c.path = append(c.path, name)
	c.text.Reset()
	return nil
}

func (c *metadata) close(element xml.EndElement) (err error) {
	if len(c.path) == 0 || c.path[len(c.path)-1] != element.Name.Local || element.Name.Space != "" {
		return fmt.Errorf("element %q ends where it did not begin", element.Name.Local[:min(len(element.Name.Local), maxKeyBytes)])
	}
	text := c.text.String()
	c.text.Reset()
	c.path = c.path[:len(c.path)-1]
	switch c.ended = len(c.path) == 0; {
	case len(c.path) != maxDepth-1:
		return nil
	case element.Name.Local == "name":
		return c.checkName(text)
	case element.Name.Local == "data_file":
		c.own = 0
		return checkKey(text)
	case element.Name.Local == "use_base":
		c.own = 0
	case element.Name.Local == "size":
		c.size, err = strconv.ParseInt(text, 10, 64)
		c.own = c.size
	case element.Name.Local == "base_size":
		c.own, err = strconv.ParseInt(text, 10, 64)
		c.own = c.size - c.own
	}
	return err
}

// checkName returns an error unless a file is one of the tables.
func (c *metadata) checkName(name string) error {
	if err := checkKey(name); err != nil {
		return err
	}
	if name == "metadata/"+c.database+".sql" {
		return nil
	}
	inMetadata, isMetadata := strings.CutPrefix(name, "metadata/"+c.database+"/")
	if table, is := strings.CutSuffix(inMetadata, ".sql"); isMetadata && is && slices.Contains(c.tables, table) {
		return nil
	}
	inData, isData := strings.CutPrefix(name, "data/"+c.database+"/")
	if table, _, is := strings.Cut(inData, "/"); isData && is && slices.Contains(c.tables, table) {
		return nil
	}
	return fmt.Errorf("%q is of no table that the manifest names", name)
}

// tagReader ends with an error where there is too much text without a tag, or at all: the decoder keeps each in
// memory until it ends. Comments, declarations and instructions, which may have tags inside, are none of BACKUP's.
type tagReader struct {
	from io.Reader
	// since is the length of what is read since the last tag began.
	since, total int
	// last is the last byte of the read before.
	last byte
}

// Read implements io.Reader.
func (r *tagReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p[:min(len(p), maxTextBytes)])
	for _, b := range p[:n] {
		if r.last == '<' && (b == '!' || b == '?') {
			return 0, errors.New("it has a declaration, a comment or an instruction")
		}
		if r.since++; b == '<' {
			r.since = 0
		}
		r.last = b
	}
	if r.total -= n; r.since > maxTextBytes || r.total < 0 {
		return 0, errors.New("it is too long, or has a text that is")
	}
	return n, err
}
