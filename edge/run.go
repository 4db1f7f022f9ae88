package edge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// nginx is its name in PATH, where only root finds it on Debian.
const nginx = "nginx"

// sbin is where Debian keeps nginx.
const sbin = "/usr/sbin/nginx"

// stopTimeout is how long answers under way may take when the edge ends. nginx cuts
// them off a little earlier itself.
const stopTimeout = 25 * time.Second

// ErrMissing says what is not installed.
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

// Run runs nginx until ctx ends, then lets it finish what is under way.
func Run(ctx context.Context, o Options, stdout, stderr io.Writer) error {
	path, err := Locate(o.Modules)
	if err != nil {
		return err
	}
	file, err := o.prepare()
	if err != nil {
		return err
	}
	cmd := exec.Command(path, "-p", o.Dir, "-e", "stderr", "-c", file) //nolint:gosec,noctx // ended by hand, gently
	cmd.Stdout, cmd.Stderr = stdout, stderr
	// Ctrl-C in a terminal goes to all of its group: nginx is told to end by us. It
	// does not outlive us either, which the kernel takes for the thread that began it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start nginx: %w", err)
	}
	return wait(ctx, cmd)
}

// wait ends nginx with ctx, first gently.
func wait(ctx context.Context, cmd *exec.Cmd) error {
	ended := make(chan struct{})
	var err error // of an nginx that has ended
	go func() {
		defer close(ended)
		err = cmd.Wait()
	}()
	select {
	case <-ended:
		return fmt.Errorf("nginx ended by itself: %w", err)
	case <-ctx.Done():
	}
	_ = cmd.Process.Signal(syscall.SIGQUIT) // it may have ended just now
	select {
	case <-ended:
		return nil
	case <-time.After(stopTimeout):
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // its workers as well
		<-ended
		return fmt.Errorf("nginx did not end within %s", stopTimeout)
	}
}

// prepare writes the configuration into the edge's folder, for its owner alone.
func (o *Options) prepare() (file string, err error) {
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return "", fmt.Errorf("the folder of the edge: %w", err)
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return "", fmt.Errorf("make the folder of the edge: %w", err)
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
