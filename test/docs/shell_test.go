package docs_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pnyx/config"
	"pnyx/test/env"
)

// shellLimit bounds the commands of one document together.
const shellLimit = 5 * time.Minute

// shell is a bash for the commands of one document, in a folder that looks like a checkout.
type shell struct {
	dir     string
	input   io.WriteCloser
	output  *bufio.Reader
	ports   map[string]string // port in the document → port in use
	started int               // commands in the background
}

// shownBytes bounds what a failed test shows of a command in the background.
const shownBytes = 4 << 10

func newShell(t *testing.T, d document) *shell {
	t.Helper()
	s := &shell{dir: checkout(t), ports: map[string]string{}}
	for _, match := range localAddress.FindAllStringSubmatch(d.text, -1) {
		s.use(t, match[1])
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), shellLimit)
	command := exec.CommandContext(ctx, "bash")
	command.Dir, command.Env = s.dir, os.Environ()
	for _, setting := range config.Settings() {
		if match := localAddress.FindStringSubmatch(setting.Default); match != nil {
			s.use(t, match[1])
			command.Env = append(command.Env, setting.Name+"="+s.here(setting.Default))
		}
	}
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	input := env.Must(command.StdinPipe())(t)
	output, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stdout, command.Stderr = writer, writer
	env.MustDo(t, command.Start())
	writer.Close()
	s.input, s.output = input, bufio.NewReader(output)
	t.Cleanup(func() {
		_, _ = io.WriteString(input, "kill $(jobs -p) 2>/dev/null; wait; exit\n") // it may have ended
		if err := command.Wait(); ctx.Err() != nil {
			t.Errorf("the commands took longer than %s: %v", shellLimit, err)
		}
		cancel()
		output.Close()
	})
	return s
}

// localAddress is an address of this machine, as the documents write it.
var localAddress = regexp.MustCompile(`127\.0\.0\.1:(\d+)`)

// use chooses a free port that stands for a port of the documents.
func (s *shell) use(t *testing.T, port string) {
	t.Helper()
	if s.ports[port] == "" {
		s.ports[port] = env.Free(t)
	}
}

// here replaces the ports of the document by those in use.
func (s *shell) here(text string) string {
	return localAddress.ReplaceAllStringFunc(text, func(address string) string {
		_, port, _ := strings.Cut(address, ":")
		if used := s.ports[port]; used != "" {
			port = used
		}
		return "127.0.0.1:" + port
	})
}

// checkout makes a folder with everything of the repository but its data folder.
func checkout(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	top := env.Must(filepath.Abs(root))(t)
	entries := env.Must(os.ReadDir(top))(t)
	for _, entry := range entries {
		if name := entry.Name(); name != "data" && name != "bin" && name != ".git" {
			env.MustDo(t, os.Symlink(filepath.Join(top, name), filepath.Join(dir, name)))
		}
	}
	env.MustDo(t, os.Mkdir(filepath.Join(dir, "bin"), 0o700))
	binary := env.Must(filepath.Abs(env.Binary(t)))(t)
	env.MustDo(t, os.Symlink(binary, filepath.Join(dir, "bin", "pnyx")))
	return dir
}

// end follows the output of each command; its number is the exit status.
var end = regexp.MustCompile(`\x1eEND (\d+)\n$`)

// progressLine is what a command adds every five seconds that it takes.
var progressLine = regexp.MustCompile(
	`(?m)^(?: *\d+ %  .*|making a snapshot|counting rows|restoring|copying|checking|publishing.*|\d+ of \d+ upstream systems have answered, .*)\n`)

// do runs a command and returns both streams without progress, and the exit status.
func (s *shell) do(t *testing.T, command string) (output string, status int) {
	t.Helper()
	env.Must(io.WriteString(s.input, s.here(command)+"\nprintf '\\036END %d\\n' $?\n"))(t)
	for {
		line, err := s.output.ReadString('\n')
		output += line
		if match := end.FindStringSubmatch(output); match != nil {
			status, _ = strconv.Atoi(match[1])
			return progressLine.ReplaceAllString(strings.TrimSuffix(output, match[0]), ""), status
		}
		if err != nil {
			t.Fatalf("%s: %v, after\n%s", command, err, output)
		}
	}
}

// background runs a command until the document ends, and waits until an address answers.
func (s *shell) background(t *testing.T, command, address string) {
	t.Helper()
	s.started++
	log := fmt.Sprintf("background-%d.log", s.started)
	// env takes settings before the program, and exec makes the job the program itself.
	s.do(t, "{ exec env "+command+"\n} >"+log+" 2>&1 &")
	t.Cleanup(func() {
		if text, err := os.ReadFile(filepath.Join(s.dir, log)); t.Failed() && err == nil {
			t.Logf("%s printed, in the end\n%s", command, text[max(0, len(text)-shownBytes):])
		}
	})
	env.Until(t, func() error {
		status, _, err := env.Fetch(s.here(address))
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("%s: %d", address, status)
		}
		return err
	})
}
