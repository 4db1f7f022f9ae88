package sources_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pnyx/follow/sources"
	"pnyx/test/env"
)

func TestAChangedFileIsAppliedAndABrokenOneIsNot(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sources.yaml")
	write := func(text string) {
		env.MustDo(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write("contact: first\ndaos:\n- {id: a, name: A, snapshot: [a.eth]}\n")
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		var fails atomic.Bool
		watcher := sources.Watcher{
			Path: path, Environ: environ,
			Changed: func(_ context.Context, file sources.File) error {
				seen = append(seen, string(file.Contact))
				if fails.Load() {
					return errors.New("warehouse is down")
				}
				return nil
			},
			Refused: func(err error) {
				text := "accepted"
				if err != nil {
					text, _, _ = strings.Cut(err.Error(), ":")
				}
				seen = append(seen, text)
			},
		}
		ctx, stop := context.WithCancel(t.Context())
		go watcher.Run(ctx)
		pass := func() {
			synctest.Wait()
			<-time.After(11 * time.Second)
			synctest.Wait()
		}
		pass()
		write("contact: ''\n")
		pass()
		fails.Store(true)
		write("contact: second\ndaos:\n- {id: a, name: A, snapshot: [a.eth]}\n")
		pass()
		fails.Store(false)
		pass()
		env.MustDo(t, os.Remove(path))
		pass()
		stop()
		synctest.Wait()
		want := []string{
			"first", "sources file refused", "second", "warehouse is down", "second", "second", "accepted", "read the sources file",
		}
		env.WantSame(t, "files seen", want, seen)
	})
}
