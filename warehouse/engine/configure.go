package engine

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed" // for the templates
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

// ClusterName is the cluster that Options.Shards describes.
const ClusterName = "pnyx"

// defaultMaxMemory bounds the engine on a machine with plenty: a warehouse that
// needs more belongs on a server of its own.
const defaultMaxMemory = 16 << 30

// blockFileFunction takes the place of the SQL function file(path), which returns the
// content of any file the process may read and asks for no permission. A function
// defined here hides the built-in one from everybody. The table function of the
// same name stays, since that one does ask.
const blockFileFunction = "CREATE FUNCTION file AS (path) -> throwIf(true, 'the function file is switched off')\n"

//go:embed server.xml.tmpl
var serverTemplate string

//go:embed users.xml.tmpl
var usersTemplate string

// layout is where things are in a data folder.
type layout struct {
	config, users string // configuration files
	store         string // what ClickHouse calls its path
	functions     string // functions defined in SQL, one file each
	spill         string // what queries spill to disk
	log           string // the query log of the process before
}

func layoutOf(dataDir string) layout {
	root := filepath.Join(dataDir, "engine")
	return layout{
		config:    filepath.Join(root, "server.xml"),
		users:     filepath.Join(root, "users.xml"),
		store:     filepath.Join(root, "store"),
		functions: filepath.Join(root, "store", "user_defined"),
		spill:     filepath.Join(root, "store", "tmp"),
		log:       filepath.Join(root, "store", "data", "system"),
	}
}

// shard is an entry of the cluster.
type shard struct{ Host, Port string }

// removeStaleFiles removes what the process before has left of no use to the next:
// spilled data, and the query log, which a new process does not recognise as its
// own and would fail to write.
func removeStaleFiles(dataDir string) error {
	at := layoutOf(dataDir)
	for _, path := range []string{at.spill, at.log} {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("clear what an engine left: %w", err)
		}
	}
	return nil
}

// configure writes all that the engine reads at its start.
func configure(options Options, instance Instance) error {
	at := layoutOf(options.DataDir)
	if err := os.MkdirAll(at.functions, 0o700); err != nil {
		return fmt.Errorf("create engine folder: %w", err)
	}
	server, err := serverConfig(at, options)
	if err != nil {
		return err
	}
	users, err := usersConfig(instance)
	if err != nil {
		return err
	}
	for path, content := range map[string][]byte{
		at.config: server,
		at.users:  users,
		filepath.Join(at.functions, "function_file.sql"): []byte(blockFileFunction),
	} {
		if err := writeFile(path, content); err != nil {
			return err
		}
	}
	return nil
}

func serverConfig(at layout, options Options) ([]byte, error) {
	shards := make([]shard, len(options.Shards))
	for i, addr := range options.Shards {
		host, port, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, fmt.Errorf("shard %q: %w", addr, err)
		}
		shards[i] = shard{host, port}
	}
	return render("server.xml", serverTemplate, struct {
		UsersFile, Cluster, User, Password string
		MaxMemory                          int64
		Shards                             []shard
	}{
		UsersFile: at.users,
		Cluster:   ClusterName,
		User:      User,
		Password:  options.Password,
		MaxMemory: cmp.Or(options.MaxMemory, defaultMaxMemory),
		Shards:    shards,
	})
}

func usersConfig(instance Instance) ([]byte, error) {
	return render("users.xml", usersTemplate, struct {
		User, PasswordHash, AnalystUser, AnalystPasswordHash, AnalystDatabase string
	}{
		User:                instance.User,
		PasswordHash:        hash(instance.Password),
		AnalystUser:         instance.AnalystUser,
		AnalystPasswordHash: hash(instance.AnalystPassword),
		AnalystDatabase:     AnalystDatabase,
	})
}

func render(name, text string, values any) ([]byte, error) {
	parsed, err := template.New(name).Funcs(template.FuncMap{"xml": escapeXML}).Parse(text)
	if err != nil {
		return nil, fmt.Errorf("parse %s: %w", name, err)
	}
	var out bytes.Buffer
	if err := parsed.Execute(&out, values); err != nil {
		return nil, fmt.Errorf("render %s: %w", name, err)
	}
	return out.Bytes(), nil
}

func escapeXML(s string) (string, error) {
	var out strings.Builder
	err := xml.EscapeText(&out, []byte(s))
	return out.String(), err
}

func hash(password string) string {
	sum := sha256.Sum256([]byte(password))
	return hex.EncodeToString(sum[:])
}
