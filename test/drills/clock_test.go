package drills

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const hour = time.Hour

// clockDrills set the clocks of single machines wrong, and right again. Monotonic clocks
// are not affected, as when an operator or NTP sets a clock.
func clockDrills() []drill {
	jump := func(name, who string, by time.Duration, clock func(*deployment) *clock) drill {
		word := " ahead"
		if by < 0 {
			word = " behind"
		}
		return drill{
			name: name + word, fault: who + " jumps an hour" + word + ", and back after 12 s", lasts: 12 * time.Second,
			deployment: deploymentOptions{clocks: true}, clockIsWrong: true,
			breaks: func(s *deployment) func() {
				clock(s).jump(by)
				return func() { clock(s).jump(0) }
			},
		}
	}
	api := func(s *deployment) *clock { return s.apis[0].clock }
	worker := func(s *deployment) *clock { return s.workers[0].clock }
	return []drill{
		jump("API's clock", "the clock of the API node", hour, api),
		jump("API's clock", "the clock of the API node", -hour, api),
		jump("Worker's clock", "the clock of the worker", hour, worker),
		jump("Worker's clock", "the clock of the worker", -hour, worker),
		jump("Redis' clock", "the clock of Redis", hour, func(s *deployment) *clock { return s.redisClock }),
		jump("Redis' clock", "the clock of Redis", -hour, func(s *deployment) *clock { return s.redisClock }),
		jump("ClickHouse's clock", "the clock of the engine", hour, func(s *deployment) *clock { return s.engineClock }),
		jump("ClickHouse's clock", "the clock of the engine", -hour, func(s *deployment) *clock { return s.engineClock }),
	}
}

// clock is the offset of the clock of one process, in seconds, in a file that the process
// has mapped.
type clock struct {
	tb   testing.TB
	path string
	// environ makes a process follow it.
	environ []string
}

// newGoClock is for a pnyx that buildWithClock has built.
func newGoClock(tb testing.TB, path string) *clock {
	tb.Helper()
	c := &clock{tb: tb, path: path, environ: []string{"PNYX_TEST_CLOCK=" + path}}
	c.jump(0)
	return c
}

// newLibraryClock is for a program that asks the C library for the time; library is
// what answers in its place.
func newLibraryClock(tb testing.TB, path, library string) *clock {
	tb.Helper()
	c := newGoClock(tb, path)
	c.environ = append(c.environ, "LD_PRELOAD="+library)
	return c
}

// jump sets the clock wrong by so much.
func (c *clock) jump(by time.Duration) {
	c.tb.Helper()
	// Written in place: the processes hold the file, not its name.
	file, err := os.OpenFile(c.path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = file.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(int64(by.Seconds()))), 0)
	}
	if err != nil {
		c.tb.Error(err)
		return
	}
	if err := file.Close(); err != nil {
		c.tb.Error(err)
	}
}

// libraryIsOff replaces the clock functions of the C library. It does not allocate, because
// an allocator may call it.
const libraryIsOff = `
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t right, *seconds = &right;

__attribute__((constructor)) static void hold(void) {
	const char *path = getenv("PNYX_TEST_CLOCK");
	int file = path ? open(path, O_RDONLY) : -1;
	void *memory = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *seconds, PROT_READ, MAP_SHARED, file, 0);
	if (memory != MAP_FAILED) seconds = memory;
}

int clock_gettime(clockid_t which, struct timespec *now) {
	int failed = syscall(SYS_clock_gettime, which, now);
	if (!failed && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE)) now->tv_sec += *seconds;
	return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
	struct timespec exact;
	if (clock_gettime(CLOCK_REALTIME, &exact)) return -1;
	now->tv_sec = exact.tv_sec, now->tv_usec = exact.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *now) {
	struct timespec exact;
	clock_gettime(CLOCK_REALTIME, &exact);
	if (now) *now = exact.tv_sec;
	return exact.tv_sec;
}
`

// buildLibraryClock builds the library that replaces the clock of the C library. It skips
// the test where there is no compiler.
func buildLibraryClock(tb testing.TB, dir string) string {
	tb.Helper()
	compiler, err := exec.LookPath("cc")
	if err != nil {
		tb.Skip("needs a C compiler: ", err)
	}
	path := filepath.Join(dir, "clock.so")
	build := exec.Command(compiler, "-shared", "-fPIC", "-O2", "-x", "c", "-", "-o", path)
	build.Stdin = strings.NewReader(libraryIsOff)
	if out, err := build.CombinedOutput(); err != nil {
		tb.Fatalf("build a clock for the C library: %v: %s", err, out)
	}
	return path
}

// nowIsOff replaces time.Now of the standard library. Everything else of the program is
// built from its own source.
const nowIsOff = `package time

import (
	"sync/atomic"
	"syscall"
	"unsafe"
)

var drillOffset = func() *int64 {
	path, found := syscall.Getenv("PNYX_TEST_CLOCK")
	if !found {
		return new(int64)
	}
	file, err := syscall.Open(path, syscall.O_RDONLY, 0)
	if err != nil {
		panic(err)
	}
	memory, err := syscall.Mmap(file, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	return (*int64)(unsafe.Pointer(&memory[0]))
}()

func drillSeconds() int64 { return atomic.LoadInt64(drillOffset) }
`

// buildWithClock builds a pnyx whose wall clock can be set, by an overlay over the
// standard library's time package.
func buildWithClock(tb testing.TB, dir string) string {
	tb.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		tb.Fatal(err)
	}
	source := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	text, err := os.ReadFile(filepath.Join(source, "time.go"))
	if err != nil {
		tb.Fatal(err)
	}
	const reading = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	patched := strings.Replace(string(text), reading, reading+"\tsec += drillSeconds()\n", 1)
	if patched == string(text) {
		tb.Fatal("the standard library's time.Now is written differently now: see buildWithClock")
	}
	replace := map[string]string{}
	for name, content := range map[string]string{"time.go": patched, "drill.go": nowIsOff} {
		path := filepath.Join(dir, "clock-"+name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			tb.Fatal(err)
		}
		replace[filepath.Join(source, name)] = path
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		tb.Fatal(err)
	}
	file, path := filepath.Join(dir, "clock.json"), filepath.Join(dir, "pnyx-clock")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		tb.Fatal(err)
	}
	build := exec.Command("go", "build", "-overlay", file, "-o", path, "pnyx")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		tb.Fatalf("build pnyx with a clock: %v: %s", err, out)
	}
	return path
}
