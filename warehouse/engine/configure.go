package engine

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed" // for the templates
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

// ClusterName is the name of the cluster that Options.Shards describes.
const ClusterName = "pnyx"

// defaultMaxMemory is the default of Options.MaxMemory in bytes. A warehouse that needs
// more should run on a server of its own.
const defaultMaxMemory = 16 << 30

// blockFileFunction replaces the SQL function file(path), which returns the content of any file
// that the process can read and checks no permission. A user-defined function hides the built-in
// one for all users. The table function of the same name remains: it checks permissions.
const blockFileFunction = "CREATE FUNCTION file AS (path) -> throwIf(true, 'the function file is switched off')\n"

//go:embed server.xml.tmpl
var serverTemplate string

//go:embed users.xml.tmpl
var usersTemplate string

type layout struct {
	config, users string // configuration files
	store         string // ClickHouse's own data folder
	functions     string // functions defined in SQL, one file each
	spill         string // temporary data of queries
	log           string // the query log of the previous process
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

type shard struct{ Host, Port string }

// removeStaleFiles removes files of the previous process: temporary data, and the query log, which a new process
// does not recognize and could not write to.
func removeStaleFiles(dataDir string) error {
	at := layoutOf(dataDir)
	if err := errors.Join(os.RemoveAll(at.spill), os.RemoveAll(at.log)); err != nil {
		return fmt.Errorf("remove files of the previous engine: %w", err)
	}
	return nil
}

// configure writes the configuration that the engine reads at its start.
func configure(options Options, instance Instance) error {
	at := layoutOf(options.DataDir)
	if err := os.MkdirAll(at.functions, 0o700); err != nil {
		return fmt.Errorf("create engine folder: %w", err)
	}
	server, err := serverConfig(at, options)
	if err != nil {
		return err
	}
	users, err := usersConfig(options, instance)
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

// usersConfig renders the configuration file of users and their limits.
func usersConfig(options Options, instance Instance) ([]byte, error) {
	return render("users.xml", usersTemplate, struct {
		User, PasswordHash, AnalystUser, AnalystPasswordHash, AnalystDatabase string
		AnalystGrants                                                         []string
		AnalystSettings                                                       []AnalystSetting
	}{
		User:                instance.User,
		PasswordHash:        hash(instance.Password),
		AnalystUser:         instance.AnalystUser,
		AnalystPasswordHash: hash(instance.AnalystPassword),
		AnalystDatabase:     AnalystDatabase,
		AnalystGrants:       options.AnalystGrants,
		AnalystSettings:     AnalystSettings(options.AnalystLimits),
	})
}

// render executes a template. The template function xml escapes text.
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

// hash returns the hexadecimal SHA-256 of a password.
func hash(password string) string {
	sum := sha256.Sum256([]byte(password))
	return hex.EncodeToString(sum[:])
}
