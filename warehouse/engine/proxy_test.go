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
	"strings"
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
	options, err := clickhouse.ParseDSN(url)
	if err != nil {
		t.Fatal(err)
	}
	dialed = new(*net.TCPConn)
	options.DialContext = func(ctx context.Context, addr string) (net.Conn, error) {
		made, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		*dialed, _ = made.(*net.TCPConn)
		return made, err
	}
	conn, err = clickhouse.Open(options)
	if err != nil {
		t.Fatal(err)
	}
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

// TestClientThatLeavesDoesNotHarmTheEngine leaves in the middle of a result again and again.
func TestClientThatLeavesDoesNotHarmTheEngine(t *testing.T) {
	t.Parallel()
	for way, begin := range map[string]func(*testing.T, engine.Instance, func(*net.TCPConn) error) error{
		"HTTP": leaveOverHTTP,
		"native": func(t *testing.T, i engine.Instance, leave func(*net.TCPConn) error) error {
			t.Helper()
			return leaveNative(t, i.AnalystURL(engine.AnalystDatabase), leave)
		},
		"another process": func(t *testing.T, i engine.Instance, leave func(*net.TCPConn) error) error {
			t.Helper()
			return leaveNative(t, i.URL(engine.AnalystDatabase), leave)
		},
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			options := env.EngineOptions(t)
			options.AnalystGrants = []string{"SELECT ON pnyx_views.vote"}
			e := start(t, options)
			table(t, e.Instance())
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
			if got := e.Instance().EnginePID; got != before {
				t.Errorf("got engine process %d, want %d: it was restarted", got, before)
			}
		})
	}
}

// TestIdleClientThatResetsDoesNotHarmTheEngine: that is what aborts the engine most surely.
func TestIdleClientThatResetsDoesNotHarmTheEngine(t *testing.T) {
	t.Parallel()
	i := env.StartEngine(t)
	for _, url := range []string{i.URL("default"), i.AnalystURL(engine.AnalystDatabase)} {
		for range 4 {
			conn, dialed := openDialed(t, url)
			if err := conn.Ping(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join((*dialed).SetLinger(0), (*dialed).Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestNobodyButTheAnalystGetsThrough(t *testing.T) {
	t.Parallel()
	i := env.StartEngine(t, "SELECT ON pnyx_views.vote")
	table(t, i)
	for name, c := range map[string]struct{ user, password, want string }{
		"the analyst":                       {i.AnalystUser, i.AnalystPassword, ""},
		"the analyst with a wrong password": {i.AnalystUser, i.AnalystPassword + "x", "Authentication failed"},
		"the owner with its password":       {i.User, i.Password, "only user analyst"},
		"the engine's own user":             {"default", "", "only user analyst"},
		"a user between shards":             {" INTERSERVER SECRET ", "", "only user analyst"},
		"nobody":                            {"", "", "only user analyst"},
	} {
		for protocol, ask := range map[string]func(engine.Instance, string, string) error{
			"native": askNative, "HTTP headers": askByHeader, "HTTP basic": askByBasic, "HTTP parameters": askByParameters,
		} {
			err := ask(i, c.user, c.password)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %s: got %v, want an error with %q", name, protocol, err, c.want)
			}
		}
	}
	// Two users in one request: the one that is checked is the one that asks.
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
		"http://"+i.AnalystAddr+"/?"+url.Values{"user": {i.User}, "password": {i.Password}}.Encode(), strings.NewReader("SELECT currentUser()"))
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth(i.AnalystUser, i.AnalystPassword)
	if got, err := send(request); err != nil || got != "analyst" {
		t.Errorf("two users: got %q, %v, want analyst", got, err)
	}
}

func askNative(i engine.Instance, user, password string) error {
	conn, err := clickhouse.Open(&clickhouse.Options{
		Addr: []string{i.AnalystAddr}, Auth: clickhouse.Auth{Username: user, Password: password},
	})
	if err != nil {
		return err
	}
	defer conn.Close()
	if user == "" {
		return errors.New("only user analyst: the driver has a default") // it signs in as default
	}
	_, err = count(context.Background(), conn, "SELECT count() FROM vote")
	return err
}

func askByHeader(i engine.Instance, user, password string) error {
	request := countVotes(i, nil)
	request.Header.Set("X-ClickHouse-User", user)
	request.Header.Set("X-ClickHouse-Key", password)
	_, err := send(request)
	return err
}

func askByBasic(i engine.Instance, user, password string) error {
	request := countVotes(i, nil)
	request.SetBasicAuth(user, password)
	_, err := send(request)
	return err
}

func askByParameters(i engine.Instance, user, password string) error {
	_, err := send(countVotes(i, url.Values{"user": {user}, "password": {password}}))
	return err
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

// TestWhatIsNoRequestIsDropped sends bytes that are none of either protocol, and paths of
// ClickHouse that are not for analysts.
func TestWhatIsNoRequestIsDropped(t *testing.T) {
	t.Parallel()
	i := env.StartEngine(t)
	for name, text := range map[string]string{
		"TLS": "\x16\x03\x01\x00\xa5\x01", "a word that is too long": "\x00\xff\xff\xff\xff\x0f", "half a packet": "\x00\x03abc\x01",
		"a number that is too long": "\x00" + strings.Repeat("\xff", 11),
		"a path":                    "GET /replicas_status HTTP/1.1\r\nHost: a\r\n\r\n", "a method": "DELETE / HTTP/1.1\r\nHost: a\r\n\r\n",
	} {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", i.AnalystAddr)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.WriteString(conn, text)
		err = errors.Join(err, conn.(*net.TCPConn).CloseWrite()) //nolint:errcheck,forcetypeassert // the network is tcp
		got, readErr := io.ReadAll(conn)
		if conn.Close(); err != nil || strings.Contains(string(got), "200 OK") {
			t.Errorf("%s: got %q (%v, %v), want no answer or a refusal", name, got, err, readErr)
		}
	}
}

func TestConnectionsOfAnalystsAreBounded(t *testing.T) {
	t.Parallel()
	i := env.StartEngine(t)
	dial := func() net.Conn {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", i.AnalystAddr)
		if err != nil {
			t.Fatal(err)
		}
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
		e, err := engine.Start(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
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
	i := env.StartEngine(t, "SELECT ON "+engine.AnalystDatabase+".vote")
	table(t, i)
	for database, found := range map[string]bool{"": true, "default": true, engine.AnalystDatabase: true, "nothing": false} {
		conn, err := clickhouse.Open(&clickhouse.Options{
			Addr: []string{i.AnalystAddr},
			Auth: clickhouse.Auth{Database: database, Username: i.AnalystUser, Password: i.AnalystPassword},
		})
		if err != nil {
			t.Fatal(err)
		}
		n, err := count(t.Context(), conn, "SELECT count() FROM vote")
		conn.Close()
		if (err == nil) != found || found && n != 3 {
			t.Errorf("native, database %q: got %d, %v, want an answer: %t", database, n, err, found)
		}
		parameters := url.Values{"user": {i.AnalystUser}, "password": {i.AnalystPassword}}
		if database != "" {
			parameters.Set("database", database)
		}
		if got, err := send(countVotes(i, parameters)); (err == nil) != found || found && got != "3" {
			t.Errorf("HTTP, database %q: got %q, %v, want an answer: %t", database, got, err, found)
		}
	}
}
