package edge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"pnyx/access"
	"pnyx/api"
	"pnyx/fetch"
)

// nginx is the name of the program in PATH; on Debian only root has its folder there.
const nginx = "nginx"

// sbin is where Debian keeps nginx.
const sbin = "/usr/sbin/nginx"

// stopMargin is how long nginx has to exit after the longest request, when the edge stops.
const stopMargin = 5 * time.Second

// ErrMissing is returned when nginx or its Lua module is not installed.
var ErrMissing = errors.New("the edge needs nginx and its Lua module: apt-get install nginx libnginx-mod-http-lua")

// Locate returns the path of nginx, or ErrMissing.
func Locate(modules string) (string, error) {
	if _, err := os.Stat(filepath.Join(modules, "ngx_http_lua_module.so")); err != nil {
		return "", fmt.Errorf("%w: %w", ErrMissing, err)
	}
	path, err := exec.LookPath(nginx)
	if err == nil {
		return path, nil
	}
	if _, err := os.Stat(sbin); err != nil {
		return "", fmt.Errorf("%w: %w", ErrMissing, err)
	}
	return sbin, nil
}

// Run runs nginx until ctx ends, then lets it finish the responses in progress.
func Run(ctx context.Context, o Options, stdout, stderr io.Writer) error {
	path, err := Locate(o.Modules)
	if err != nil {
		return err
	}
	if err := o.checkOrigin(ctx); err != nil {
		return err
	}
	o.Files = allowedFiles()
	file, err := o.prepare()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, path, "-p", o.Dir, "-e", "stderr", "-c", file) //nolint:gosec // what Locate found
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) } // it finishes the responses in progress
	cmd.WaitDelay = o.PaymentTimeout + stopMargin
	// A process group of its own keeps Ctrl-C from nginx. The kernel ties Pdeathsig to this
	// thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithParent(cmd.SysProcAttr)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start nginx: %w", err)
	}
	err = cmd.Wait()
	switch {
	case ctx.Err() == nil:
		return fmt.Errorf("nginx exited: %w", err)
	case cmd.ProcessState.Success():
		return nil
	}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // its worker processes too
	return fmt.Errorf("nginx did not stop in order within %s: %w", cmd.WaitDelay, err)
}

// allowedFiles raises the hard limit that nginx inherits to wantedFiles, and returns it or, where the system
// does not allow that, the lower one: nginx complains in each process of a limit that it cannot set.
func allowedFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Max >= wantedFiles {
		return wantedFiles
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: limit.Cur, Max: wantedFiles}); err == nil {
		return wantedFiles
	}
	return int(limit.Max)
}

// checkTimeout bounds the wait for a node at the start.
const checkTimeout = 2 * time.Second

// ErrTimeouts is returned when nodes may work on a payment for longer than the edge waits.
var ErrTimeouts = errors.New("the edge gives up before nodes do")

// checkOrigin compares the edge's time limit with a node's. One that does not answer yet is no obstacle: it takes no
// payment from an edge that gives up before it does.
func (o *Options) checkOrigin(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	address := strings.TrimSuffix(o.Origin, "/") + api.PathAuthorize + "/v2/meta/pricing"
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, address, http.NoBody)
	if err != nil {
		return fmt.Errorf("origin %q: %w", o.Origin, err)
	}
	request.Header.Set(access.HeaderInternal, o.Token)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: fetch.RefuseRedirect}
	response, err := client.Do(request)
	if err != nil {
		return nil // it does not answer yet
	}
	defer response.Body.Close()
	needed, err := strconv.ParseInt(response.Header.Get(api.HeaderTimeout), 10, 64)
	if needs := time.Duration(needed) * time.Millisecond; err == nil && needs > o.PaymentTimeout {
		return fmt.Errorf("%w: they may take %s for a payment, and the edge waits %s: set the same "+
			"X402_VERIFY_TIMEOUT, X402_SETTLE_TIMEOUT and PNYX_REQUEST_TIMEOUT for both", ErrTimeouts, needs, o.PaymentTimeout)
	}
	return nil
}

// prepare writes the configuration into the edge's folder, readable by its owner only.
func (o *Options) prepare() (file string, err error) {
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return "", fmt.Errorf("folder of the edge: %w", err)
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return "", fmt.Errorf("create the folder of the edge: %w", err)
	}
	var text bytes.Buffer
	if err := Write(&text, *o); err != nil {
		return "", err
	}
	file = filepath.Join(o.Dir, "nginx.conf")
	if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
		return "", fmt.Errorf("write the configuration of nginx: %w", err)
	}
	return file, nil
}
