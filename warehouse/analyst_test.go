package warehouse_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"pnyx/warehouse"
)

// analystOf connects an analyst as the user of a database of its own.
func analystOf(t *testing.T) *warehouse.Analyst {
	t.Helper()
	_, url := openURL(t)
	address, err := warehouse.HTTPAddress(t.Context(), warehouse.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	return analystAt(t, address)
}

func analystAt(t *testing.T, address string) *warehouse.Analyst {
	t.Helper()
	analyst, err := warehouse.NewAnalyst(t.Context(), warehouse.AnalystOptions{
		URL: address, Timeout: time.Minute, MaxMemory: 1 << 30, MaxRows: 1000,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { analyst.Close() })
	return analyst
}

func TestAnalystGetsResultsInTheEnginesFormats(t *testing.T) {
	t.Parallel()
	analyst := analystOf(t)
	for format, want := range map[string]string{
		"CSV":         "1.000000000000000001,\"['a','b']\",\\N\n",
		"JSONEachRow": `{"power":"1.000000000000000001","list":["a","b"],"nothing":null}` + "\n",
	} {
		var out bytes.Buffer
		err := analyst.Ask(t.Context(), "SELECT toDecimal256('1.000000000000000001', 18) AS power, ['a', 'b'] AS list, NULL AS nothing",
			format, map[string]string{"output_format_json_quote_decimals": "1"}, &out)
		if err != nil || out.String() != want {
			t.Errorf("%s: got %q (%v), want %q", format, &out, err, want)
		}
	}
}

func TestAnalystWithAllRightsStillOnlyReads(t *testing.T) {
	t.Parallel()
	analyst := analystOf(t)
	for sql, want := range map[string]string{
		"INSERT INTO daos (dao_id) VALUES ('x')":       "READONLY",
		"CREATE TABLE stolen (a Int8) ENGINE = Memory": "READONLY",
		"DROP TABLE daos":                 "READONLY",
		"ALTER TABLE daos DELETE WHERE 1": "READONLY",
		"TRUNCATE TABLE daos":             "READONLY",
		"SELECT * FROM file('/etc/passwd', LineAsString, 'line String')": "READONLY",
		"SELECT * FROM url('http://127.0.0.1:1/', CSV, 'a String')":      "READONLY",
		"SET readonly = 0":                         "READONLY",
		"SELECT 1 SETTINGS max_execution_time = 0": "READONLY",
		"SELECT number FROM numbers(1001)":         "TOO_MANY_ROWS",
		"SELECT 1 AS x FORMAT Template SETTINGS format_template_row = '/etc/passwd'":  "READONLY",
		"SELECT 1 AS x FORMAT Protobuf SETTINGS output_format_schema = '/tmp/a'":      "READONLY",
		"SELECT 1 SETTINGS format_avro_schema_registry_url = 'http://127.0.0.1:1'":    "READONLY",
		"SELECT 1 SETTINGS input_format_record_errors_file_path = '/tmp/a'":           "READONLY",
		"SELECT sum(cityHash64(number)) FROM numbers(1000000000) SETTINGS readonly=0": "READONLY",
	} {
		if err := analyst.Ask(t.Context(), sql, "CSV", nil, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", sql, err, want)
		}
	}
}

// TestErrorAfterAPartOfTheResultIsNoPartOfIt cuts an answer at every place, as a network may.
func TestErrorAfterAPartOfTheResultIsNoPartOfIt(t *testing.T) {
	t.Parallel()
	const tag, rows = "abcdefghijklmnop", "1,\"a\r\n__exception__\r\n\"\n2,\"b\"\n"
	const message = "Code: 395. DB::Exception: number 3: is wrong. (WRONG) (version 26.7.2.1)\n"
	answer := rows + "\r\n__exception__\r\n" + tag + "\r\n" + message + fmt.Sprint(len(message)) + " " + tag + "\r\n__exception__\r\n"
	for name, cut := range map[string]func(io.Reader) io.Reader{
		"whole": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader, "halves": iotest.HalfReader,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			if err := warehouse.CopyAnswer(&out, cut(strings.NewReader(answer)), tag); err == nil || err.Error() != "number 3: is wrong. (WRONG)" {
				t.Errorf("got the error %v, want the server's", err)
			}
			if out.String() != rows {
				t.Errorf("got %q, want the rows alone", &out)
			}
			out.Reset()
			if err := warehouse.CopyAnswer(&out, cut(strings.NewReader(rows)), tag); err != nil || out.String() != rows {
				t.Errorf("without an error: got %q, %v", &out, err)
			}
			lost := errors.New("lost")
			out.Reset()
			if err := warehouse.CopyAnswer(&out, cut(io.MultiReader(strings.NewReader(rows), iotest.ErrReader(lost))), tag); !errors.Is(err, lost) {
				t.Errorf("a lost connection: got %v, want an error", err)
			}
		})
	}
}

// TestAttackAnalystWhoMayChangeSettings: with readonly = 2, queries read and write files by
// settings of formats.
func TestAttackAnalystWhoMayChangeSettings(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		"2\n": "want a user with readonly = 1", "": "want a user with readonly = 1", strings.Repeat("1", 1<<20): "too long",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) }))
		t.Cleanup(server.Close)
		_, err := warehouse.NewAnalyst(t.Context(), warehouse.AnalystOptions{URL: server.URL, Timeout: time.Minute})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("readonly = %.10s: got %v, want %q", answer, err, want)
		}
	}
}

func TestAnalystOfAServerThatRefusesSaysWhyOnce(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, "Code: 516. DB::Exception: analyst: Authentication failed. (AUTHENTICATION_FAILED) (version 26.7.2.1)\n")
	}))
	t.Cleanup(server.Close)
	_, err := warehouse.NewAnalyst(t.Context(), warehouse.AnalystOptions{URL: strings.Replace(server.URL, "://", "://analyst:hidden@", 1), Timeout: time.Minute})
	if err == nil || err.Error() != "read the user's rights: analyst: Authentication failed. (AUTHENTICATION_FAILED)" {
		t.Errorf("got %v, want the server's reason and no password", err)
	}
}
