// Package processclock sets the wall clock of single processes wrong, for drills. It knows the memory of a
// process on linux/amd64, and nothing of what the process does.
package processclock

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pnyx/test/env"
)

// Set sets the wall clock of a running process wrong by whole seconds, or right again with 0. Monotonic
// clocks are not affected. A process that has ended is left alone; one that starts again has the right time.
//
// Programs read the time with functions that the kernel maps into each process, the vDSO. Set replaces
// them in that one process: Go's runtime and the C library use them alike.
func Set(tb testing.TB, pid int, by time.Duration) {
	tb.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		tb.Skip("sets clocks on linux/amd64 only")
	}
	err := replaceClock(tb, pid, by)
	if errors.Is(err, fs.ErrPermission) {
		tb.Skip("this machine does not let a test write into the memory of its own processes")
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ESRCH) {
		tb.Errorf("set the clock of process %d: %v", pid, err)
	}
}

func replaceClock(tb testing.TB, pid int, by time.Duration) error {
	tb.Helper()
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer memory.Close()
	v, err := readVDSO(pid, memory)
	if err != nil {
		return err
	}
	if !v.isReplaced() {
		if err := v.replace(tb, pid, memory); err != nil {
			return err
		}
	}
	offset := uint64(int64(by.Seconds()))
	_, err = memory.WriteAt(binary.LittleEndian.AppendUint64(nil, offset), v.at(v.room))
	return err
}

// clockFunction replaces a function of the vDSO: the system call, and then the distance at offset to the seconds
// to add.
type clockFunction struct {
	name   string
	code   []byte
	offset int
}

// clockFunctions are those that tell the wall clock.
func clockFunctions() []clockFunction {
	return []clockFunction{
		{"__vdso_clock_gettime", []byte{
			0xb8, 228, 0, 0, 0, // mov eax, SYS_clock_gettime
			0x0f, 0x05, // syscall
			0x85, 0xc0, 0x75, 0x13, // it fails: return
			0x83, 0xff, 5, 0x74, 0x04, // CLOCK_REALTIME_COARSE: add
			0x85, 0xff, 0x75, 0x0a, // not CLOCK_REALTIME: return
			0x48, 0x8b, 0x0d, 0, 0, 0, 0, // mov rcx, [seconds]
			0x48, 0x01, 0x0e, 0xc3, // add [rsi], rcx; ret
		}, 23},
		{"__vdso_gettimeofday", []byte{
			0xb8, 96, 0, 0, 0, 0x0f, 0x05, // SYS_gettimeofday
			0x48, 0x85, 0xff, 0x74, 0x0a, // no address: return
			0x48, 0x8b, 0x0d, 0, 0, 0, 0, // mov rcx, [seconds]
			0x48, 0x01, 0x0f, 0xc3, // add [rdi], rcx; ret
		}, 15},
		{"__vdso_time", []byte{
			0xb8, 201, 0, 0, 0, 0x0f, 0x05, // SYS_time
			0x48, 0x03, 0x05, 0, 0, 0, 0, // add rax, [seconds]
			0x48, 0x85, 0xff, 0x74, 0x03, // no address: return
			0x48, 0x89, 0x07, 0xc3, // mov [rdi], rax; ret
		}, 10},
	}
}

const (
	// jumpSize is the size of the jump that a function begins with once it is replaced.
	jumpSize = 5
	// clockSlot is the room for the number of seconds, and for each function after it.
	clockSlot = 32
)

// vdso is the library that the kernel maps into a process.
type vdso struct {
	base  int64
	image []byte
	// entries are the offsets of the replaced functions, in the order of clockFunctions.
	entries []int
	// room is the offset of zeros behind the library, which are executable as well.
	room int
}

// readVDSO reads the library of a process.
func readVDSO(pid int, memory *os.File) (v vdso, err error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return v, err
	}
	for line := range strings.Lines(string(maps)) {
		if !strings.Contains(line, "[vdso]") {
			continue
		}
		var end int64
		if _, err := fmt.Sscanf(line, "%x-%x", &v.base, &end); err != nil {
			return v, err
		}
		v.image = make([]byte, end-v.base)
	}
	if v.image == nil {
		return v, syscall.ESRCH // a zombie has no memory
	}
	if _, err := memory.ReadAt(v.image, v.base); err != nil {
		return v, err
	}
	library, err := elf.NewFile(bytes.NewReader(v.image))
	if err != nil {
		return v, err
	}
	defer library.Close()
	symbols, err := library.DynamicSymbols()
	if err != nil {
		return v, err
	}
	end := 0
	for _, section := range library.Sections {
		end = max(end, int(section.Offset+section.FileSize))
	}
	// Behind the sections is their table.
	v.room = (end + int(binary.LittleEndian.Uint16(v.image[58:]))*int(binary.LittleEndian.Uint16(v.image[60:])) + 2*clockSlot) &^ (clockSlot - 1)
	if v.room+clockSlot*(1+len(clockFunctions())) > len(v.image) {
		return v, fmt.Errorf("its vDSO of %d bytes has no room behind %d", len(v.image), v.room)
	}
	for _, function := range clockFunctions() {
		for _, symbol := range symbols {
			if symbol.Name == function.name {
				v.entries = append(v.entries, int(symbol.Value))
			}
		}
	}
	if len(v.entries) != len(clockFunctions()) {
		return v, fmt.Errorf("its vDSO has %d of %d functions", len(v.entries), len(clockFunctions()))
	}
	return v, nil
}

func (v *vdso) at(offset int) int64 { return v.base + int64(offset) }

// slot is the offset of the code that replaces a function.
func (v *vdso) slot(function int) int { return v.room + clockSlot*(1+function) }

// jump is what the entry of a function becomes.
func (v *vdso) jump(function int) []byte {
	distance := v.slot(function) - v.entries[function] - jumpSize
	return binary.LittleEndian.AppendUint32([]byte{0xe9}, uint32(distance))
}

func (v *vdso) isReplaced() bool {
	for i, entry := range v.entries {
		if !bytes.HasPrefix(v.image[entry:], v.jump(i)) {
			return false
		}
	}
	return true
}

// replace stops a process for a moment and replaces the functions. A thread that is in one goes on behind its
// entry.
func (v *vdso) replace(tb testing.TB, pid int, memory *os.File) error {
	tb.Helper()
	for i, function := range clockFunctions() {
		code := bytes.Clone(function.code)
		distance := v.room - v.slot(i) - function.offset - 4
		binary.LittleEndian.PutUint32(code[function.offset:], uint32(distance))
		if _, err := memory.WriteAt(code, v.at(v.slot(i))); err != nil {
			return err
		}
	}
	if stopped, err := areStopped(pid); err != nil {
		return err
	} else if !stopped { // otherwise a test has stopped it, and lets it go on
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			return err
		}
		defer syscall.Kill(pid, syscall.SIGCONT) //nolint:errcheck // it may have been killed
	}
	env.Until(tb, func() error {
		if stopped, err := areStopped(pid); err == nil && !stopped {
			return errors.New("it runs on")
		}
		return nil
	})
	for i, entry := range v.entries {
		if _, err := memory.WriteAt(v.jump(i), v.at(entry)); err != nil {
			return err
		}
	}
	return nil
}

// areStopped reports whether all threads of a process are stopped.
func areStopped(pid int) (bool, error) {
	threads, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/stat")
	if err != nil || len(threads) == 0 {
		return false, errors.Join(err, syscall.ESRCH)
	}
	for _, path := range threads {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		if _, after, found := bytes.Cut(text, []byte(") ")); !found || after[0] != 'T' {
			return false, nil
		}
	}
	return true, nil
}
