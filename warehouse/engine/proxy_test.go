package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"

	"pnyx/test/env"
	"pnyx/warehouse/engine"
)

// endless is a query whose result no client of these tests reads to its end.
const endless = "SELECT repeat('x', 100) AS x, number FROM numbers(1000000)"

// ways are the ways in which a client may leave.
func ways() map[string]func(*net.TCPConn) error {
	return map[string]func(*net.TCPConn) error{
		"resets": func(conn *net.TCPConn) error { return errors.Join(conn.SetLinger(0), conn.Close()) },
		"closes": (*net.TCPConn).Close,
		"half-closes": func(conn *net.TCPConn) error {
			defer conn.Close()
			return conn.CloseWrite()
		},
	}
}

// leaveOverHTTP begins to read a result over HTTP, and leaves.
func leaveOverHTTP(t *testing.T, i engine.Instance, leave func(*net.TCPConn) error) error {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", i.AnalystAddr)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: a\r\nX-ClickHouse-User: %s\r\nX-ClickHouse-Key: %s\r\nContent-Length: %d\r\n\r\n%s",
		i.AnalystUser, i.AnalystPassword, len(endless), endless)
	if err == nil {
		_, err = io.ReadFull(conn, make([]byte, 100_000))
	}
	return errors.Join(err, leave(conn.(*net.TCPConn))) //nolint:errcheck,forcetypeassert // the network is tcp
}

// openDialed opens a pool, and returns its latest connection once there is one.
func openDialed(t *testing.T, url string) (conn clickhouse.Conn, dialed **net.TCPConn) {
	t.Helper()
	options := env.Must(clickhouse.ParseDSN(url))(t)
	dialed = new(*net.TCPConn)
	options.DialContext = func(ctx context.Context, addr string) (net.Conn, error) {
		made, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		*dialed, _ = made.(*net.TCPConn)
		return made, err
	}
	conn = env.Must(clickhouse.Open(options))(t)
	t.Cleanup(func() { conn.Close() })
	return conn, dialed
}

// leaveNative begins to read a result over the native protocol, and leaves.
func leaveNative(t *testing.T, url string, leave func(*net.TCPConn) error) error {
	t.Helper()
	ctx := t.Context()
	conn, dialed := openDialed(t, url)
	rows, err := conn.Query(ctx, endless)
	if err != nil {
		return err
	}
	for i := 0; i < 1000 && rows.Next(); i++ {
	}
	if err := rows.Err(); err != nil {
		return err
	}
	err = leave(*dialed)
	for rows.Next() { // what is buffered
	}
	_ = errors.Join(rows.Err(), rows.Close()) // an error is what was wanted
	return err
}

// TestClientThatLeavesEndsItsQuery leaves in the middle of a result again and again, from the
// address of analysts and from the engine itself.
func TestClientThatLeavesEndsItsQuery(t *testing.T) {
	t.Parallel()
	for way, begin := range map[string]func(*testing.T, engine.Instance, func(*net.TCPConn) error) error{
		"HTTP": leaveOverHTTP,
		"native": func(t *testing.T, i engine.Instance, leave func(*net.TCPConn) error) error {
			t.Helper()
			return leaveNative(t, i.URL(engine.AnalystDatabase), leave)
		},
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			e := common(t)
			before := e.Instance().EnginePID
			for name, leave := range ways() {
				for range 2 {
					if err := begin(t, e.Instance(), leave); err != nil {
						t.Fatalf("%s: %v", name, err)
					}
				}
			}
			all := open(t, e.Instance().URL(engine.AnalystDatabase))
			env.Until(t, func() error {
				n, err := count(t.Context(), all, "SELECT count() FROM system.processes WHERE query LIKE 'SELECT repeat%'")
				if err == nil && n > 0 {
					err = fmt.Errorf("%d queries without a client are running", n)
				}
				return err
			})
			wantCount(t, open(t, e.Instance().AnalystURL(engine.AnalystDatabase)), "SELECT count() FROM vote", 3)
			env.Want(t, before, e.Instance().EnginePID, "engine process", "it was restarted")
		})
	}
}

// Not every thread of the library blocks the signal of a write to a client that has left.
func TestClientThatLeavesSignalsNothing(t *testing.T) {
	t.Parallel()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", common(t).Instance().EnginePID))
	if err != nil {
		t.Skip("only Linux tells which signals a process ignores")
	}
	_, after, _ := strings.Cut(string(status), "SigIgn:\t")
	ignored := env.Must(strconv.ParseUint(strings.Fields(after)[0], 16, 64))(t)
	env.Want(t, 1, ignored>>(syscall.SIGPIPE-1)&1, "SIGPIPE is ignored")
}

// TestIdleClientThatResetsDoesNotHarmTheEngine resets connections over which nothing goes.
func TestIdleClientThatResetsDoesNotHarmTheEngine(t *testing.T) {
	t.Parallel()
	e := common(t)
	before := e.Instance()
	for range 4 {
		conn, dialed := openDialed(t, before.URL("default"))
		env.MustDo(t, conn.Ping(t.Context()))
		env.MustDo(t, errors.Join((*dialed).SetLinger(0), (*dialed).Close()))
	}
	if err := answers(t, before); err != nil || e.Instance().EnginePID != before.EnginePID {
		t.Errorf("the engine was restarted (%v)", err)
	}
}

func TestNobodyButTheAnalystGetsThrough(t *testing.T) {
	t.Parallel()
	i := common(t).Instance()
	for name, c := range map[string]struct{ user, password, want string }{
		"the analyst":                       {i.AnalystUser, i.AnalystPassword, ""},
		"the analyst with a wrong password": {i.AnalystUser, i.AnalystPassword + "x", "Authentication failed"},
		"the owner with its password":       {i.User, i.Password, "only user analyst"},
		"the engine's own user":             {"default", "", "only user analyst"},
		"a user between shards":             {" INTERSERVER SECRET ", "", "only user analyst"},
		"nobody":                            {"", "", "only user analyst"},
	} {
		for way, sign := range map[string]func(request *http.Request, user, password string){
			"headers": func(r *http.Request, user, password string) {
				r.Header.Set("X-ClickHouse-User", user)
				r.Header.Set("X-ClickHouse-Key", password)
			},
			"basic": (*http.Request).SetBasicAuth,
			"parameters": func(r *http.Request, user, password string) {
				r.URL.RawQuery = url.Values{"user": {user}, "password": {password}}.Encode()
			},
		} {
			request := countVotes(i, nil)
			sign(request, c.user, c.password)
			_, err := send(request)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %s: got %v, want an error with %q", name, way, err, c.want)
			}
		}
	}
	// Two users in one request: the one that is checked is the one that asks.
	request := env.Must(http.NewRequestWithContext(t.Context(), http.MethodPost,
		"http://"+i.AnalystAddr+"/?"+url.Values{"user": {i.User}, "password": {i.Password}}.Encode(), strings.NewReader("SELECT currentUser()")))(t)
	request.SetBasicAuth(i.AnalystUser, i.AnalystPassword)
	env.Want(t, "analyst", env.Must(send(request))(t), "two users")
}

func countVotes(i engine.Instance, parameters url.Values) *http.Request {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodPost,
		"http://"+i.AnalystAddr+"/?"+parameters.Encode(), strings.NewReader("SELECT count() FROM vote"))
	if err != nil {
		panic(err) // the address is one
	}
	return request
}

func send(request *http.Request) (string, error) {
	response, err := (&http.Client{Timeout: testTimeout}).Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%d: %s", response.StatusCode, text)
	}
	return strings.TrimSpace(string(text)), err
}

// TestAttackRequestsThatAreNone sends bytes that are no request for analysts.
func TestAttackRequestsThatAreNone(t *testing.T) {
	t.Parallel()
	i := common(t).Instance()
	for name, text := range map[string]string{
		"TLS": "\x16\x03\x01\x00\xa5\x01", "the native protocol": "\x00\x03abc\x01", "Redis": "*1\r\n$4\r\nPING\r\n",
		"a path": "GET /replicas_status HTTP/1.1\r\nHost: a\r\n\r\n", "a page": "GET /play HTTP/1.1\r\nHost: a\r\n\r\n",
		"a method": "DELETE / HTTP/1.1\r\nHost: a\r\n\r\n", "a tunnel": "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n",
		"another path": "GET //ping HTTP/1.1\r\nHost: a\r\n\r\n", "another server": "GET http://a/play HTTP/1.1\r\nHost: a\r\n\r\n",
		"a long header": "GET / HTTP/1.1\r\nHost: a\r\nX-A: " + strings.Repeat("a", 1<<20) + "\r\n\r\n",
	} {
		conn := env.Must((&net.Dialer{}).DialContext(t.Context(), "tcp", i.AnalystAddr))(t)
		_, _ = io.WriteString(conn, text)                   // an error means that the server was first
		_ = conn.(*net.TCPConn).CloseWrite()                //nolint:errcheck,forcetypeassert // the network is tcp
		got, err := io.ReadAll(io.LimitReader(conn, 1<<20)) // an error means a reset
		if conn.Close(); strings.Contains(string(got), "200 OK") {
			t.Errorf("%s: got %q (%v), want no answer or a refusal", name, got, err)
		}
	}
}

// TestAttackRequestsBesideTheLists sends requests of the analyst that are on no list.
func TestAttackRequestsBesideTheLists(t *testing.T) {
	t.Parallel()
	i := common(t).Instance()
	request := func(method, query, body string, header ...string) func() (*http.Request, error) {
		return func() (*http.Request, error) {
			made, err := http.NewRequestWithContext(t.Context(), method, "http://"+i.AnalystAddr+"/?"+query, strings.NewReader(body))
			if err == nil {
				made.SetBasicAuth(i.AnalystUser, i.AnalystPassword)
				for n := 0; n < len(header); n += 2 {
					made.Header.Set(header[n], header[n+1])
				}
			}
			return made, err
		}
	}
	for name, c := range map[string]struct {
		make func() (*http.Request, error)
		want string
	}{
		"a query":                 {request("POST", "", "SELECT 1"), ""},
		"a query in the URL":      {request("GET", "query=SELECT+1", ""), ""},
		"a form's type":           {request("POST", "", "SELECT 1", "Content-Type", "application/x-www-form-urlencoded"), ""},
		"a listed setting":        {request("POST", "join_use_nulls=1", "SELECT 1"), ""},
		"a placeholder":           {request("POST", "param_x=1", "SELECT {x:Int8}"), ""},
		"a session":               {request("POST", "session_id=a", "SELECT 1"), ""},
		"a compressed answer":     {request("POST", "enable_http_compression=1&http_zlib_compression_level=1", "SELECT 1"), ""},
		"multipart":               {request("POST", "", "--a--", "Content-Type", "multipart/form-data; boundary=a"), "415"},
		"an unknown type":         {request("POST", "", "SELECT 1", "Content-Type", "text/html"), "415"},
		"no type":                 {request("POST", "", "SELECT 1", "Content-Type", ";"), "415"},
		"a compressed query":      {request("POST", "", "SELECT 1", "Content-Encoding", "gzip"), "415"},
		"another encoding":        {request("POST", "", "SELECT 1", "Content-Encoding", "identity"), "415"},
		"a query to decompress":   {request("POST", "decompress=1", "SELECT 1"), "decompress"},
		"a role":                  {request("POST", "role=a", "SELECT 1"), "role"},
		"a profile":               {request("POST", "profile=default", "SELECT 1"), "profile"},
		"a quota":                 {request("POST", "quota_key=a", "SELECT 1"), "quota_key"},
		"a stack trace":           {request("POST", "stacktrace=1", "SELECT 1"), "stacktrace"},
		"a long session":          {request("POST", "session_id=a&session_timeout=3600", "SELECT 1"), "session_timeout"},
		"a setting":               {request("POST", "format_template_row=/etc/passwd", "SELECT 1"), "format_template_row"},
		"a fixed setting":         {request("POST", "readonly=0", "SELECT 1"), "readonly"},
		"external data":           {request("POST", "t_structure=x+Int8", "SELECT 1"), "t_structure"},
		"two queries":             {request("POST", "query=SELECT+1&query=SELECT+2", ""), "once"},
		"a large buffer":          {request("POST", "buffer_size=99999999999", "SELECT 1"), "buffer_size"},
		"a negative buffer":       {request("POST", "buffer_size=-1", "SELECT 1"), "buffer_size"},
		"a long name of a query":  {request("POST", "query_id="+strings.Repeat("a", 300), "SELECT 1"), "256 bytes"},
		"a long placeholder":      {request("POST", "param_"+strings.Repeat("a", 300)+"=1", "SELECT 1"), "256 bytes"},
		"a malformed parameter":   {request("POST", "query=%zz", "SELECT 1"), "malformed"},
		"a semicolon":             {request("POST", "query=SELECT+1;readonly=0", ""), "malformed"},
		"a large body":            {request("POST", "", "SELECT 1"+strings.Repeat(" ", 1<<20)), "413"},
		"a header without a body": {request("HEAD", "query=SELECT+1", ""), "405"},
	} {
		made := env.Must(c.make())(t)
		got, err := send(made)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %.200q, %v, want an error with %q", name, got, err, c.want)
		}
	}
}

// TestAttackSessionsAreBounded: the engine keeps each session in memory for a minute.
func TestAttackSessionsAreBounded(t *testing.T) {
	t.Parallel()
	i := env.StartEngine(t)
	var refused error
	for n := 0; n < 1000 && refused == nil; n++ {
		_, refused = send(countOne(i, url.Values{"session_id": {strconv.Itoa(n)}}))
	}
	if refused == nil || !strings.Contains(refused.Error(), "429: want at most 64 sessions within a minute") {
		t.Errorf("1000 sessions: got %v, want a refusal", refused)
	}
	if _, err := send(countOne(i, url.Values{"session_id": {"0"}})); err != nil {
		t.Errorf("a session that is known: %v", err)
	}
}

// countOne returns a query of the analyst that needs no table.
func countOne(i engine.Instance, parameters url.Values) *http.Request {
	request := countVotes(i, parameters)
	request.Body, request.ContentLength = io.NopCloser(strings.NewReader("SELECT 1")), -1
	request.SetBasicAuth(i.AnalystUser, i.AnalystPassword)
	return request
}

func TestConnectionsOfAnalystsAreBounded(t *testing.T) {
	t.Parallel()
	i := env.StartEngine(t)
	dial := func() net.Conn {
		conn := env.Must((&net.Dialer{}).DialContext(t.Context(), "tcp", i.AnalystAddr))(t)
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	var open []net.Conn
	for range engine.MaxAnalysts {
		open = append(open, dial())
	}
	if n, err := dial().Read(make([]byte, 1)); err == nil {
		t.Errorf("one more connection: got %d bytes, want it closed", n)
	}
	for _, conn := range open {
		conn.Close()
	}
	env.Until(t, func() error {
		request := countVotes(i, nil)
		request.URL.Path = "/ping"
		_, err := send(request)
		return err
	})
}

func TestAnalystsKeepAddressAndPassword(t *testing.T) {
	t.Parallel()
	options := env.EngineOptions(t)
	options.AnalystListen = env.FreeAddress(t)
	var before engine.Instance
	for range 2 {
		e := env.Must(engine.Start(t.Context(), options))(t)
		got := e.Instance()
		stop(t, e)
		if before.AnalystAddr != "" && (got.AnalystAddr != before.AnalystAddr || got.AnalystPassword != before.AnalystPassword) {
			t.Errorf("after a restart: got %s and another password, want %s and the same", got.AnalystAddr, before.AnalystAddr)
		}
		before = got
	}
	kept, err := os.ReadFile(engine.PasswordPath(options.DataDir))
	info, statErr := os.Stat(engine.PasswordPath(options.DataDir))
	if err != nil || statErr != nil || strings.TrimSpace(string(kept)) != before.AnalystPassword || info.Mode().Perm() != 0o600 {
		t.Errorf("got the file %q, %v (%v, %v), want the password for its owner alone", kept, info.Mode(), err, statErr)
	}
}

func TestAnalystNeedsNoDatabase(t *testing.T) {
	t.Parallel()
	i := common(t).Instance()
	for database, found := range map[string]bool{"": true, "default": true, engine.AnalystDatabase: true, "nothing": false} {
		parameters := url.Values{"user": {i.AnalystUser}, "password": {i.AnalystPassword}}
		if database != "" {
			parameters.Set("database", database)
		}
		if got, err := send(countVotes(i, parameters)); (err == nil) != found || found && got != "3" {
			t.Errorf("database %q: got %q, %v, want an answer: %t", database, got, err, found)
		}
	}
}
