package env

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

const printsTheTime = "PNYX_TEST_PRINTS_THE_TIME"

// TestPrintsTheTime is a program for TestSetClockMovesWhatAProcessReads: for each line that it
// reads, it prints the time and how long it runs.
func TestPrintsTheTime(t *testing.T) {
	if os.Getenv(printsTheTime) == "" {
		t.Skip("is a part of another test")
	}
	began := time.Now()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		fmt.Printf("time %d %d\n", time.Now().Unix(), int(time.Since(began).Hours()))
	}
}

func TestSetClockMovesWhatAProcessReads(t *testing.T) {
	redis := Redis(t)
	client := RedisClient(t, redis.URL)
	program := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPrintsTheTime$")
	program.Env = append(os.Environ(), printsTheTime+"=1")
	in, err := program.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for _, by := range []time.Duration{0, 100 * time.Hour, -100 * time.Hour, 0} {
		SetClock(t, redis.PID(), by)
		SetClock(t, program.Process.Pid, by)
		before := time.Now().Add(by)
		there := client.Time(t.Context()).Val()
		fmt.Fprintln(in)
		for lines.Scan() && !strings.HasPrefix(lines.Text(), "time ") { //nolint:revive // the framework prints, too
		}
		after := time.Now().Add(by)
		words := strings.Fields(lines.Text())
		if len(words) != 3 {
			t.Fatalf("got %q, want a time", lines.Text())
		}
		seconds, err := strconv.ParseInt(words[1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if seconds < before.Unix() || seconds > after.Unix() || words[2] != "0" {
			t.Errorf("wrong by %s: a program in Go reads %d and runs for %s hours, want from %d to %d, and 0", by, seconds, words[2], before.Unix(), after.Unix())
		}
		if there.Before(before.Add(-time.Second)) || there.After(after.Add(time.Second)) {
			t.Errorf("wrong by %s: Redis reads %s, want from %s to %s", by, there, before, after)
		}
	}
	in.Close()
	if err := program.Wait(); err != nil {
		t.Error(err)
	}
	SetClock(t, program.Process.Pid, time.Hour) // it has ended
}
