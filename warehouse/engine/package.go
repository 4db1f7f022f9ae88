package engine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// Version is the version of the library that Fetch downloads. It contains ClickHouse 26.7.2.
const Version = "26.7.3-stable.1"

type npmPackage struct {
	name    string
	version string
	// integrity is the hash of the tarball, "sha512-" and base64. Empty means that it is not pinned: Fetch trusts
	// what the registry states first, records it, and requires it from then on.
	integrity string
	// library is the SHA-256 of the unpacked library, in hexadecimal. Empty means that it
	// is not pinned: the library must then have the hash that its receipt records.
	library string
}

// receipt describes a downloaded library. Its file is next to the library.
type receipt struct {
	Package   string `json:"package"`
	Version   string `json:"version"`
	Integrity string `json:"integrity"`
	File      string `json:"file"`
	Size      int64  `json:"size"`
	SHA256    string `json:"sha256"`
}

func platformPackage() (npmPackage, error) {
	switch platform := runtime.GOOS + "/" + runtime.GOARCH; platform {
	case "linux/amd64":
		return npmPackage{
			"@chdb/lib-linux-x64-gnu", Version,
			"sha512-XP97mMqnc5tZpKQywR8N7cLTsHNiTmHr30pC5mzo3jWmukjKn2IBa60c2B/gWUNcuFjOMjWoorQICCqBVj5wpw==",
			"36ad4e999882821ef13cf2d0f52c93f48e6ee1b4498b35a201c23ce4b8d15bf5",
		}, nil
	case "linux/arm64":
		return npmPackage{name: "@chdb/lib-linux-arm64-gnu", version: Version}, nil
	case "darwin/amd64":
		return npmPackage{name: "@chdb/lib-darwin-x64", version: Version}, nil
	case "darwin/arm64":
		return npmPackage{name: "@chdb/lib-darwin-arm64", version: Version}, nil
	default:
		return npmPackage{}, fmt.Errorf("no engine library is published for %s: "+
			"set CLICKHOUSE_URL to a ClickHouse server instead", platform)
	}
}

// String returns the name and version as npm writes them.
func (p npmPackage) String() string { return p.name + "@" + p.version }

// cached returns the library in dir with the hash that it must have, if its receipt is for
// this package and its size is right. The hash itself is checked when the library is loaded.
func (p npmPackage) cached(dir string) (Program, bool) {
	note, err := readReceipt(dir)
	if err != nil || note.Package != p.name || note.Version != p.version ||
		note.Integrity != cmp.Or(p.integrity, note.Integrity) {
		return Program{}, false
	}
	program := Program{Library: filepath.Join(dir, filepath.Base(note.File)), Digest: cmp.Or(p.library, note.SHA256)}
	info, err := os.Lstat(program.Library)
	return program, err == nil && info.Mode().IsRegular() && info.Size() == note.Size && program.Digest != ""
}

// expected returns the hash that the tarball must have: the pinned hash, else the hash of an
// earlier download, else the one that the registry states. source says which.
func (p npmPackage) expected(dir, stated string) (integrity, source string) {
	if p.integrity != "" {
		return p.integrity, "pinned"
	}
	if note, err := readReceipt(dir); err == nil && note.Package == p.name && note.Version == p.version {
		return note.Integrity, "recorded in " + receiptPath(dir)
	}
	return stated, "stated by the registry, since none is pinned for this platform; " +
		"recorded in " + receiptPath(dir)
}

func readReceipt(dir string) (receipt, error) {
	var note receipt
	text, err := os.ReadFile(receiptPath(dir))
	if err != nil {
		return note, err
	}
	return note, json.Unmarshal(text, &note)
}

func (r receipt) write(dir string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode receipt: %w", err)
	}
	return writeFile(receiptPath(dir), append(text, '\n'))
}

func receiptPath(dir string) string { return filepath.Join(dir, "receipt.json") }

// cachePath returns dir, or the default folder if dir is empty.
func cachePath(dir string) (string, error) {
	if dir != "" {
		return filepath.Abs(dir)
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a cache folder: %w", err)
	}
	return filepath.Join(base, "pnyx", "engine", Version), nil
}
