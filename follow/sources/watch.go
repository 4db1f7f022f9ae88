package sources

import (
	"bytes"
	"context"
	"time"

	"pnyx/clock"
)

// Watcher follows the changes of a sources file.
type Watcher struct {
	Path string
	// Environ looks up environment variables.
	Environ func(string) (string, bool)
	// Clock is nil for the system's.
	Clock *clock.Clock
	// Changed gets the file at the start and after each change. After an error it is called again.
	Changed func(context.Context, File) error
	// Refused gets each new error of the file or of Changed, and nil when there is none any more.
	Refused func(error)
}

// Run reads the file every few seconds until ctx ends. What is followed stays as it is while the file is refused.
func (w Watcher) Run(ctx context.Context) {
	const watchInterval = 5 * time.Second // the time between two looks at a sources file
	var applied []byte
	refused := ""
	for {
		text, err := readFile("sources", w.Path)
		if err == nil && !bytes.Equal(text, applied) {
			var file File
			if file, err = Parse(w.Path, text, w.Environ); err == nil {
				err = w.Changed(ctx, file)
			}
			if err == nil {
				applied = text
			}
		}
		switch {
		case err == nil && refused != "":
			refused = ""
			w.Refused(nil)
		case err != nil && err.Error() != refused && ctx.Err() == nil:
			refused = err.Error()
			w.Refused(err)
		}
		if w.Clock.Wait(ctx, watchInterval) != nil {
			return
		}
	}
}
