package env

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

const (
	// NginxModules is the folder of nginx's modules on Debian.
	NginxModules = "/usr/lib/nginx/modules"
	// nginxProgram is where Debian keeps nginx, in a folder that is in the PATH of root alone.
	nginxProgram = "/usr/sbin/nginx"
)

// SkipShort skips a test under -short, which needs the engine, a server, a browser, the built program, or seconds.
// What starts one of them calls it.
func SkipShort(tb testing.TB, need string) {
	tb.Helper()
	if testing.Short() {
		tb.Skipf("needs %s, which -short leaves out", need)
	}
}

// Program is the path of a program in PATH. Without it, the test is skipped, or fails if the environment variable
// required is set. It skips the test under -short.
func Program(tb testing.TB, name, required string) string {
	tb.Helper()
	SkipShort(tb, name)
	path, err := exec.LookPath(name)
	if err != nil {
		missing(tb, err, required)
	}
	return path
}

// Nginx is the path of nginx with its Lua module, as Program, with PNYX_TEST_REQUIRE_NGINX.
func Nginx(tb testing.TB) string {
	tb.Helper()
	SkipShort(tb, "nginx")
	const required = "PNYX_TEST_REQUIRE_NGINX"
	if _, err := os.Stat(filepath.Join(NginxModules, "ngx_http_lua_module.so")); err != nil {
		missing(tb, err, required)
	}
	path, err := exec.LookPath("nginx")
	if err == nil {
		return path
	}
	if _, err := os.Stat(nginxProgram); err != nil {
		missing(tb, err, required)
	}
	return nginxProgram
}

// missing ends a test that lacks a program: it fails if that is required or cannot be run, or is skipped.
func missing(tb testing.TB, err error, required string) {
	tb.Helper()
	if os.Getenv(required) != "" || !errors.Is(err, exec.ErrNotFound) && !errors.Is(err, fs.ErrNotExist) {
		tb.Fatal(err)
	}
	tb.Skip(err)
}
