package warehouse

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

const (
	// maxMessage bounds the error text that is read from a server, in bytes.
	maxMessage = 64 << 10
	// maxRights bounds the answers about a user's rights, in bytes.
	maxRights = 256 << 10
	// answerBuffer is how much of an answer is read at once, in bytes.
	answerBuffer = 64 << 10
	// analystGrace is how much longer than AnalystOptions.Timeout an answer may take to begin.
	analystGrace = 30 * time.Second
)

// AnalystOptions configures an Analyst.
type AnalystOptions struct {
	// URL is the address of ClickHouse's HTTP interface, with user, password and database,
	// whose views are asked; without a database it is DefaultDatabase.
	URL string
	// Timeout and MaxMemory, in bytes, bound one query, MaxRows the rows of its result; they are above 0.
	Timeout   time.Duration
	MaxMemory int64
	MaxRows   int
}

// Analyst sends queries to ClickHouse as they are, over its HTTP interface, and passes on
// results in any of its formats. The server itself enforces that they only read.
type Analyst struct {
	client *http.Client
	// endpoint is the address of the interface, without a query.
	endpoint url.URL
	user     *url.Userinfo
	always   url.Values // the parameters of every query
	// changeable are the settings that the user may change; nil means all.
	changeable []string
}

// NewAnalyst connects to a server, and reads what the user may do there. A user with more rights
// than to read asks with readonly = 1 and the limits of o, so that no query changes a setting; for
// one with readonly = 1 the limits and changeable settings of its profile hold. A user who may
// change any setting and cannot give that up is refused: by settings, queries read and write files.
func NewAnalyst(ctx context.Context, o AnalystOptions) (*Analyst, error) {
	endpoint, err := url.Parse(o.URL)
	if err != nil {
		return nil, fmt.Errorf("address of the HTTP interface: %w", err)
	}
	transport := &http.Transport{
		DialContext:           (&net.Dialer{Timeout: dialTimeout}).DialContext,
		ResponseHeaderTimeout: o.Timeout + analystGrace,
		DisableCompression:    true, // the server is near, and compresses only if told
	}
	a := &Analyst{
		client: &http.Client{Transport: transport}, endpoint: *endpoint, user: endpoint.User, always: url.Values{},
	}
	database := cmp.Or(strings.Trim(endpoint.Path, "/"), DefaultDatabase)
	a.always.Set("database", ViewsDatabase(strings.TrimSuffix(database, viewsSuffix)))
	a.endpoint.User, a.endpoint.Path, a.endpoint.RawQuery = nil, "/", ""
	readOnly, err := a.read(ctx, "SELECT getSetting('readonly')")
	if err != nil {
		return nil, err
	}
	switch strings.TrimSpace(readOnly) {
	case "0":
		a.always.Set("readonly", "1")
		a.always.Set("max_execution_time", strconv.FormatFloat(o.Timeout.Seconds(), 'f', -1, 64))
		a.always.Set("max_memory_usage", strconv.FormatInt(o.MaxMemory, 10))
		a.always.Set("max_result_rows", strconv.Itoa(o.MaxRows))
		a.always.Set("result_overflow_mode", "throw")
	case "1":
		changeable, err := a.read(ctx, "SELECT name FROM system.settings WHERE NOT readonly")
		if err != nil {
			return nil, err
		}
		a.changeable = append([]string{}, strings.Fields(changeable)...)
	default:
		return nil, fmt.Errorf("user %s asks with readonly = %s, under which a query may change any setting, and read and write files by it: "+
			"want a user with readonly = 1, as docs/production.md makes it", endpoint.User.Username(), strings.TrimSpace(readOnly))
	}
	return a, nil
}

// read returns the answer to a question about the user's rights.
func (a *Analyst) read(ctx context.Context, sql string) (string, error) {
	answer := boundedText{left: maxRights}
	if err := a.Ask(ctx, sql, "TabSeparated", nil, &answer); err != nil {
		return "", fmt.Errorf("read the user's rights: %w", err)
	}
	return answer.String(), nil
}

// boundedText is a text of which a server may not write more than what is left.
type boundedText struct {
	strings.Builder
	left int
}

// Write implements io.Writer.
func (b *boundedText) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errors.New("the answer is too long")
	}
	return b.Builder.Write(p)
}

// Close closes idle connections.
func (a *Analyst) Close() error {
	a.client.CloseIdleConnections()
	return nil
}

// Ask runs a query, and writes the result to out as it arrives, in one of ClickHouse's formats unless the query
// has a FORMAT clause. settings are the format's; they are left out where the user may not set them. An error of
// the server may follow after a part of the result.
func (a *Analyst) Ask(ctx context.Context, sql, format string, settings map[string]string, out io.Writer) error {
	parameters := url.Values{"default_format": {format}}
	maps.Copy(parameters, a.always)
	for name, value := range settings {
		if a.changeable == nil || slices.Contains(a.changeable, name) {
			parameters.Set(name, value)
		}
	}
	address := a.endpoint
	address.RawQuery = parameters.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address.String(), strings.NewReader(sql))
	if err != nil {
		return err
	}
	if a.user != nil {
		password, _ := a.user.Password()
		request.Header.Set("X-ClickHouse-User", a.user.Username()) //nolint:canonicalheader // ClickHouse's spelling
		request.Header.Set("X-ClickHouse-Key", password)           //nolint:canonicalheader // the same
	}
	response, err := a.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		text, err := io.ReadAll(io.LimitReader(response.Body, maxMessage))
		return errors.Join(serverError(text), err)
	}
	return copyAnswer(out, response.Body, response.Header.Get("X-ClickHouse-Exception-Tag")) //nolint:canonicalheader // the same
}

// copyAnswer copies an answer up to its end, or up to an error of the server. Such an error
// begins with a mark that holds tag, which is random, and is returned instead of copied.
func copyAnswer(out io.Writer, body io.Reader, tag string) error {
	mark := []byte("\r\n__exception__\r\n" + tag + "\r\n")
	buffer := make([]byte, 0, answerBuffer+len(mark))
	for {
		n, readErr := body.Read(buffer[len(buffer):cap(buffer)])
		buffer = buffer[:len(buffer)+n]
		if at := bytes.Index(buffer, mark); tag != "" && at >= 0 {
			text, _ := io.ReadAll(io.LimitReader(body, maxMessage)) // the server cuts the answer off
			text = append(bytes.Clone(buffer[at+len(mark):]), text...)
			// The mark at the end has a line with the length of the text before it.
			text, _, _ = bytes.Cut(text, []byte(" "+tag+"\r\n"))
			text = text[:max(bytes.LastIndexByte(text, '\n'), 0)]
			_, err := out.Write(buffer[:at])
			return errors.Join(serverError(text), err)
		}
		// What may be the beginning of the mark is held back.
		ready := len(buffer)
		if readErr == nil {
			ready = max(len(buffer)-len(mark)+1, 0)
		}
		if _, err := out.Write(buffer[:ready]); err != nil {
			return err
		}
		buffer = buffer[:copy(buffer, buffer[ready:])]
		switch {
		case errors.Is(readErr, io.EOF):
			return nil
		case readErr != nil:
			return fmt.Errorf("the result is incomplete: %w", readErr)
		}
	}
}

var (
	exceptionCode    = regexp.MustCompile(`^Code: \d+\. DB::Exception: `)
	exceptionVersion = regexp.MustCompile(` \(version [^)]*\)\s*$`)
)

// serverError returns an error with the text of a server, without the numbers around it.
func serverError(text []byte) error {
	text = exceptionVersion.ReplaceAll(exceptionCode.ReplaceAll(bytes.TrimSpace(text), nil), nil)
	if len(text) == 0 {
		return errors.New("the server gives no reason")
	}
	return errors.New(string(text))
}

// HTTPAddress returns the address of a server's HTTP interface, with the user and database of its native address.
// It asks the server for the port, and takes the first host.
func HTTPAddress(ctx context.Context, o Options) (string, error) {
	if strings.HasPrefix(o.URL, "http") {
		return o.URL, nil
	}
	options, err := connectOptions(o)
	if err != nil {
		return "", err
	}
	options.Settings = nil // the user may not be allowed to change any
	conn, err := clickhouse.Open(options)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	address := url.URL{
		Scheme: "http", Path: "/" + options.Auth.Database,
		User: url.UserPassword(options.Auth.Username, options.Auth.Password),
	}
	if options.TLS != nil {
		address.Scheme = "https"
	}
	var port uint16
	if err := conn.QueryRow(ctx, "SELECT getServerPort('"+address.Scheme+"_port')").Scan(&port); err != nil {
		return "", fmt.Errorf("read the port of the server's HTTP interface: %w", err)
	}
	host, _, err := net.SplitHostPort(options.Addr[0])
	if err != nil {
		return "", err
	}
	address.Host = net.JoinHostPort(host, strconv.Itoa(int(port)))
	return address.String(), nil
}

// AnalystGrants returns what the user analyst may read: the views, and the tables that views read with the rights
// of their caller. Other views read with the rights of the user who made them, so that all other tables are
// refused, among them signing keys, hashes of tokens and signed payments.
func AnalystGrants() []string {
	grants := []string{"SELECT ON " + ViewsDatabase(DefaultDatabase) + ".*"} //nolint:unqueryvet // a right, no query
	for _, table := range []string{"ballots", "proposal_states", "batches"} {
		grants = append(grants, "SELECT ON "+DefaultDatabase+"."+table)
	}
	return grants
}
