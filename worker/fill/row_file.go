package fill

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/parquet-go/parquet-go"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/warehouse"
)

func compressRows(format governance.ExportFormat, write func(io.Writer) error) (cache.File, error) {
	level := gzip.DefaultCompression
	if format == governance.ExportParquet {
		level = gzip.NoCompression // its columns are compressed
	}
	var compressed bytes.Buffer
	zip, err := gzip.NewWriterLevel(&compressed, level)
	if err != nil {
		return cache.File{}, fmt.Errorf("compress rows: %w", err)
	}
	digest := sha256.New()
	var size byteCount
	if err := write(io.MultiWriter(zip, digest, &size)); err != nil {
		return cache.File{}, err
	}
	if err := zip.Close(); err != nil {
		return cache.File{}, fmt.Errorf("compress rows: %w", err)
	}
	sum := sha256.Sum256(compressed.Bytes())
	return cache.File{Gzip: compressed.Bytes(), Size: int(size), Digest: digest.Sum(nil), GzipDigest: sum[:]}, nil
}

// byteCount counts what is written to it.
type byteCount int

// Write implements io.Writer.
func (c *byteCount) Write(text []byte) (int, error) {
	*c += byteCount(len(text))
	return len(text), nil
}

// rowWriter writes rows of one type in a format. flush writes what is left.
type rowWriter[Row any] struct {
	write func(Row) error
	flush func() error
}

func newRowWriter[Row any](w io.Writer, format governance.ExportFormat) rowWriter[Row] {
	switch format {
	case governance.ExportCSV:
		return csvRows[Row](w)
	case governance.ExportParquet:
		return parquetRows[Row](w)
	case governance.ExportNDJSON:
	}
	encoder := json.NewEncoder(w) // ends each value with a line feed
	encoder.SetEscapeHTML(false)
	return rowWriter[Row]{func(row Row) error { return encoder.Encode(row) }, func() error { return nil }}
}

// csvRows writes CSV by RFC 4180, with a header. Columns are in the order of the type, or in a given order, which
// has all. Lines end in a line feed: a writer of CRLF changes line feeds in texts, too.
func csvRows[Row any](w io.Writer, order ...string) rowWriter[Row] {
	_, columns := columnsOf(reflect.TypeFor[Row](), nil, nil)
	if order != nil {
		slices.SortFunc(columns, func(a, b column) int { return slices.Index(order, a.name()) - slices.Index(order, b.name()) })
	}
	records := csv.NewWriter(w)
	names := warehouse.Values(columns, column.name)
	first := records.Write(names)
	cells := make([]string, len(columns))
	return rowWriter[Row]{func(row Row) error {
		if first != nil {
			return first
		}
		for i, c := range columns {
			value, _, err := c.read(reflect.ValueOf(row))
			if err != nil {
				return err
			}
			switch value := value.(type) {
			case nil:
				cells[i] = ""
			case string:
				cells[i] = plainCell(value)
			case governance.Timestamp:
				cells[i] = value.String()
			default:
				cells[i] = fmt.Sprint(value)
			}
		}
		return records.Write(cells)
	}, func() error { records.Flush(); return records.Error() }}
}

// parquetRows writes Apache Parquet: structs are groups, times timestamps, exact numbers texts, lists JSON.
func parquetRows[Row any](w io.Writer) rowWriter[Row] {
	group, columns := columnsOf(reflect.TypeFor[Row](), nil, nil)
	schema := parquet.NewSchema("rows", group)
	places := map[string]int{} // a group sorts its members
	for i, path := range schema.Columns() {
		places[strings.Join(path, ".")] = i
	}
	file := parquet.NewWriter(w, schema, parquet.Compression(&parquet.Zstd))
	return rowWriter[Row]{func(row Row) error {
		cells := make(parquet.Row, len(columns))
		for _, c := range columns {
			value, level, err := c.read(reflect.ValueOf(row))
			if err != nil {
				return err
			}
			if at, is := value.(governance.Timestamp); is {
				value = int64(at)
			}
			place := places[c.name()]
			cells[place] = parquet.ValueOf(value).Level(0, level, place)
		}
		_, err := file.WriteRows([]parquet.Row{cells})
		return err
	}, file.Close}
}

// column is a member of a row, or of a struct in one.
type column struct {
	// path are the names in JSON, and fields the indices in the structs, from the row on.
	path   []string
	fields []int
}

func (c column) name() string { return strings.Join(c.path, ".") }

func columnsOf(row reflect.Type, path []string, fields []int) (parquet.Group, []column) {
	group := parquet.Group{}
	var columns []column
	for i := range row.NumField() {
		if row.Field(i).Anonymous {
			members, below := columnsOf(row.Field(i).Type, path, append(slices.Clip(fields), i))
			maps.Copy(group, members)
			columns = append(columns, below...)
			continue
		}
		name, _, _ := strings.Cut(row.Field(i).Tag.Get("json"), ",")
		c := column{append(slices.Clip(path), name), append(slices.Clip(fields), i)}
		inner := row.Field(i).Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		var node parquet.Node
		switch {
		case inner == reflect.TypeFor[governance.Timestamp]():
			node = parquet.Timestamp(parquet.Millisecond)
		case inner.Kind() == reflect.Struct:
			members, below := columnsOf(inner, c.path, c.fields)
			node, columns = members, append(columns, below...)
		case inner.Kind() == reflect.Bool:
			node = parquet.Leaf(parquet.BooleanType)
		case inner.Kind() == reflect.Int:
			node = parquet.Int(64)
		default:
			node = parquet.String()
		}
		if node.Leaf() {
			columns = append(columns, c)
		}
		if row.Field(i).Type.Kind() == reflect.Pointer {
			node = parquet.Optional(node)
		}
		group[name] = node
	}
	return group, columns
}

// read returns a string, bool, int64 or Timestamp, nil for null, and how many of the pointers to it are not nil.
func (c column) read(row reflect.Value) (value any, level int, err error) {
	for _, i := range c.fields {
		if row = row.Field(i); row.Kind() != reflect.Pointer {
			continue
		}
		if row.IsNil() {
			return nil, level, nil
		}
		level, row = level+1, row.Elem()
	}
	switch row.Kind() { //nolint:exhaustive // all others are below
	case reflect.String:
		return row.String(), level, nil
	case reflect.Bool:
		return row.Bool(), level, nil
	case reflect.Int:
		return row.Int(), level, nil
	}
	if at, is := reflect.TypeAssert[governance.Timestamp](row); is {
		return at, level, nil
	}
	text, err := governance.JSON(row.Interface())
	return string(text), level, err
}

// plainCell returns what no spreadsheet takes for a formula: anyone may propose a choice called =HYPERLINK(…).
func plainCell(field string) string {
	if field != "" && strings.ContainsRune("=+-@\t\r", rune(field[0])) {
		return "'" + field
	}
	return field
}
