package engine

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

const (
	// User may do everything.
	User = "pnyx"

	// AnalystUser may read the database AnalystDatabase, within limits, and
	// nothing else: it writes no table and reads no file and no address.
	AnalystUser = "analyst"

	// AnalystDatabase is what AnalystUser may read.
	AnalystDatabase = "pnyx"
)

// loopback is the only address the engine listens on.
const loopback = "127.0.0.1"

// ErrNotRunning says that no engine runs in a folder.
var ErrNotRunning = errors.New("no engine is running")

// Instance says how to reach a running engine. It holds passwords: logged, it
// shows only addresses and processes.
type Instance struct {
	OwnerPID        int       `json:"ownerPid"`
	EnginePID       int       `json:"enginePid"`
	TCPAddr         string    `json:"tcpAddr"`
	HTTPAddr        string    `json:"httpAddr"`
	User            string    `json:"user"`
	Password        string    `json:"password"`
	AnalystUser     string    `json:"analystUser"`
	AnalystPassword string    `json:"analystPassword"`
	Started         time.Time `json:"started"`
}

// Find returns the engine that runs in the folder, from any process that may read
// the folder's files. The error is [ErrNotRunning] when there is none, whatever a
// crash has left behind, and while one is still starting.
func Find(dataDir string) (Instance, error) {
	held, err := isLocked(dataDir)
	if err != nil {
		return Instance{}, err
	}
	if !held {
		return Instance{}, fmt.Errorf("%w in %s", ErrNotRunning, dataDir)
	}
	text, err := os.ReadFile(instancePath(dataDir))
	if errors.Is(err, os.ErrNotExist) {
		return Instance{}, fmt.Errorf("%w in %s yet: it is starting or ending", ErrNotRunning, dataDir)
	}
	if err != nil {
		return Instance{}, fmt.Errorf("read engine address: %w", err)
	}
	var found Instance
	if err := json.Unmarshal(text, &found); err != nil {
		return Instance{}, fmt.Errorf("decode %s: %w", instancePath(dataDir), err)
	}
	return found, nil
}

// URL is the native address of a database with the credentials of User, in the
// form that clickhouse.ParseDSN takes.
func (i Instance) URL(database string) string {
	return dsn(i.TCPAddr, i.User, i.Password, database)
}

// AnalystURL is URL with the credentials of AnalystUser.
func (i Instance) AnalystURL(database string) string {
	return dsn(i.TCPAddr, i.AnalystUser, i.AnalystPassword, database)
}

// LogValue leaves out the passwords.
func (i Instance) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("tcp_addr", i.TCPAddr),
		slog.String("http_addr", i.HTTPAddr),
		slog.Int("engine_pid", i.EnginePID),
	)
}

func dsn(addr, user, password, database string) string {
	u := url.URL{Scheme: "clickhouse", User: url.UserPassword(user, password), Host: addr, Path: "/" + database}
	return u.String()
}

// newInstance decides on ports and passwords.
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
		AnalystUser:     AnalystUser,
		AnalystPassword: randomPassword(),
		Started:         time.Now().UTC(),
	}, nil
}

// freePorts returns the ports asked for, and free ones in place of zeros. Both
// are held until both are known, so that they differ.
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

// copyFile publishes the instance in the folder. Readers see all of it or nothing.
func (i Instance) publish(dir string) error {
	text, err := json.MarshalIndent(i, "", "  ") //nolint:gosec // passwords are what the file is for; only its owner may read it
	if err != nil {
		return fmt.Errorf("encode engine address: %w", err)
	}
	return writeFile(instancePath(dir), append(text, '\n'))
}

// removeInstance removes what write has published, if anything.
func removeInstance(dir string) error {
	err := os.Remove(instancePath(dir))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

func instancePath(dir string) string { return filepath.Join(dir, "engine.json") }

// writeFile replaces a file that only the owner may read, at once or not at all.
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

func randomPassword() string { return rand.Text() }
