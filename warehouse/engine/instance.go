package engine

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// User has all permissions.
	User = "pnyx"
	// AnalystUser may only read what Options.AnalystGrants name, within limits. It cannot
	// write tables, and cannot read files or URLs.
	AnalystUser = "analyst"
	// AnalystDatabase is the database that AnalystUser may open: the views of "pnyx".
	AnalystDatabase = "pnyx_views"
)

// loopback is the only address that the engine listens on.
const loopback = "127.0.0.1"

// ErrNotRunning reports a data folder without a running engine.
var ErrNotRunning = errors.New("no engine is running")

// Instance holds the addresses and credentials of a running engine. Its log value omits the passwords.
type Instance struct {
	// OwnerPID is the process that called Start.
	OwnerPID  int `json:"ownerPid"`
	EnginePID int `json:"enginePid"`
	// TCPAddr is the address of the native protocol, "127.0.0.1:port", HTTPAddr the address of the HTTP interface.
	TCPAddr  string `json:"tcpAddr"`
	HTTPAddr string `json:"httpAddr"`
	User     string `json:"user"`
	Password string `json:"password"`
	// AnalystAddr is where AnalystUser, who may only read, connects over HTTP. User has all permissions.
	AnalystAddr     string    `json:"analystAddr"`
	AnalystUser     string    `json:"analystUser"`
	AnalystPassword string    `json:"analystPassword"`
	Started         time.Time `json:"started"` // when Start chose the addresses
}

// Find returns the engine that runs in a data folder, to any process that can read its files. The error is
// [ErrNotRunning] if none runs, also after a crash, and [ErrInUse] while an engine starts or stops.
func Find(dataDir string) (Instance, error) {
	locked, err := isLocked(dataDir)
	if err != nil {
		return Instance{}, err
	}
	if !locked {
		return Instance{}, fmt.Errorf("%w in %s", ErrNotRunning, dataDir)
	}
	text, err := os.ReadFile(instancePath(dataDir))
	if errors.Is(err, os.ErrNotExist) {
		return Instance{}, inUseError(dataDir)
	}
	if err != nil {
		return Instance{}, fmt.Errorf("read engine address: %w", err)
	}
	var found Instance
	if err := json.Unmarshal(text, &found); err != nil {
		return Instance{}, fmt.Errorf("decode %s: %w", instancePath(dataDir), err)
	}
	if errors.Is(syscall.Kill(found.OwnerPID, 0), syscall.ESRCH) { // the orphan is about to end
		return Instance{}, inUseError(dataDir)
	}
	return found, nil
}

// Use is Find for a process that uses the engine until the closer is closed: AwaitUsers waits
// for it. The error is [ErrInUse] also once that has returned.
func Use(dataDir string) (Instance, io.Closer, error) {
	if _, err := Find(dataDir); err != nil {
		return Instance{}, nil, err
	}
	users, err := os.Open(dataDir) //nolint:gosec // a configured folder, which is their lock: they may only read it
	if err != nil {
		return Instance{}, nil, fmt.Errorf("open data folder: %w", err)
	}
	if err = tryLock(users, syscall.LOCK_SH); errors.Is(err, errLocked) {
		err = inUseError(dataDir)
	}
	found, foundErr := Find(dataDir) // it may have ended before the lock
	if err = cmp.Or(err, foundErr); err != nil {
		return Instance{}, nil, errors.Join(err, users.Close())
	}
	return found, users, nil
}

// HasDatabase reports whether a data folder contains a database, whether or not an engine runs.
func HasDatabase(dataDir, database string) bool {
	_, err := os.Stat(filepath.Join(layoutOf(dataDir).store, "metadata", database+".sql"))
	return err == nil
}

// URL returns the DSN of a database for User, as clickhouse.ParseDSN accepts it.
func (i Instance) URL(database string) string {
	return address("clickhouse", i.TCPAddr, i.User, i.Password, database)
}

// AnalystURL returns the address of the HTTP interface for AnalystUser, with a database as path.
func (i Instance) AnalystURL(database string) string {
	return address("http", i.AnalystAddr, i.AnalystUser, i.AnalystPassword, database)
}

// LogValue returns the addresses and the process, without passwords.
func (i Instance) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("tcp_addr", i.TCPAddr),
		slog.String("http_addr", i.HTTPAddr),
		slog.Int("engine_pid", i.EnginePID),
	)
}

func address(scheme, addr, user, password, database string) string {
	u := url.URL{
		Scheme: scheme, User: url.UserPassword(user, password), Host: addr, Path: "/" + database,
	}
	return u.String()
}

func newInstance(options Options) (Instance, error) {
	tcp, http, err := freePorts(options.TCPPort, options.HTTPPort)
	if err != nil {
		return Instance{}, err
	}
	return Instance{
		OwnerPID:        os.Getpid(),
		TCPAddr:         net.JoinHostPort(loopback, strconv.Itoa(tcp)),
		HTTPAddr:        net.JoinHostPort(loopback, strconv.Itoa(http)),
		User:            User,
		Password:        options.Password,
		AnalystAddr:     localAddr(options.AnalystListen),
		AnalystUser:     AnalystUser,
		AnalystPassword: options.AnalystPassword,
		Started:         time.Now().UTC(),
	}, nil
}

// localAddr returns the address at which a process of this machine reaches a listener.
func localAddr(listener string) string {
	host, port, err := net.SplitHostPort(listener)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsUnspecified() {
		return listener
	}
	return net.JoinHostPort(loopback, port)
}

// PasswordPath is the file in a data folder that keeps the password of AnalystUser. Only
// the owner can read it. Without the file, the next start makes a new password.
func PasswordPath(dataDir string) string { return filepath.Join(dataDir, "analyst.password") }

// keptPassword returns the password in a file, which it creates if there is none.
func keptPassword(path string) (string, error) {
	text, err := os.ReadFile(path) //nolint:gosec // a file of the data folder
	if password := strings.TrimSpace(string(text)); err == nil && password != "" {
		return password, nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("read the password of analysts: %w", err)
	}
	password := rand.Text()
	return password, writeFile(path, []byte(password+"\n"))
}

// freePorts returns the given ports, with free ports in place of zeros. It holds both
// ports until it returns, so that they differ.
func freePorts(tcp, http int) (int, int, error) {
	for _, port := range []*int{&tcp, &http} {
		if *port != 0 {
			continue
		}
		listener, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			return 0, 0, fmt.Errorf("find a free port: %w", err)
		}
		defer listener.Close()
		*port = listener.Addr().(*net.TCPAddr).Port //nolint:errcheck // a TCP listener has a TCP address
	}
	return tcp, http, nil
}

// publish writes the instance into the data folder, where Find reads it.
func (i Instance) publish(dir string) error {
	//nolint:gosec // the file is for passwords, and only its owner can read it
	text, err := json.MarshalIndent(i, "", "  ")
	if err != nil {
		return fmt.Errorf("encode engine address: %w", err)
	}
	return writeFile(instancePath(dir), append(text, '\n'))
}

func removeInstance(dir string) error {
	err := os.Remove(instancePath(dir))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

func instancePath(dir string) string { return filepath.Join(dir, "engine.json") }

// writeFile atomically replaces a file that only the owner can read.
func writeFile(path string, content []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = file.Write(content)
	err = errors.Join(err, file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, errors.Join(err, os.Remove(file.Name())))
	}
	return nil
}
