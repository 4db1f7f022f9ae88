package processclock_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"pnyx/test/env"
	"pnyx/test/processclock"
)

const printsTheTime = "PNYX_TEST_PRINTS_THE_TIME"

// TestPrintsTheTime is a program that prints for each line the time and how long it runs.
func TestPrintsTheTime(t *testing.T) {
	if os.Getenv(printsTheTime) == "" {
		t.Skip("is a part of another test")
	}
	began := time.Now()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		fmt.Printf("time %d %d\n", time.Now().Unix(), int(time.Since(began).Hours()))
	}
}

func TestSetMovesWhatAProcessReads(t *testing.T) {
	redis := env.Redis(t)
	client := env.RedisClient(t, redis.URL)
	program := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPrintsTheTime$")
	program.Env = append(os.Environ(), printsTheTime+"=1")
	in := env.Must(program.StdinPipe())(t)
	out := env.Must(program.StdoutPipe())(t)
	env.MustDo(t, program.Start())
	lines := bufio.NewScanner(out)
	for _, by := range []time.Duration{0, 100 * time.Hour, -100 * time.Hour, 0} {
		processclock.Set(t, redis.PID(), by)
		processclock.Set(t, program.Process.Pid, by)
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
		seconds := env.Must(strconv.ParseInt(words[1], 10, 64))(t)
		if seconds < before.Unix() || seconds > after.Unix() || words[2] != "0" {
			t.Errorf("wrong by %s: a program in Go reads %d and runs for %s hours, want from %d to %d, and 0", by, seconds, words[2], before.Unix(), after.Unix())
		}
		if there.Before(before.Add(-time.Second)) || there.After(after.Add(time.Second)) {
			t.Errorf("wrong by %s: Redis reads %s, want from %s to %s", by, there, before, after)
		}
	}
	in.Close()
	env.WantError(t, nil, program.Wait())
	processclock.Set(t, program.Process.Pid, time.Hour) // it has ended
}
