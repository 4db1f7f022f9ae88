package cache

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Version says at which revision the pages of a proposal or DAO were last changed,
// and what they are read from. A page of an earlier revision is stale. There is a
// mark for every proposal and DAO that is published.
type Version struct {
	Revision uint64
	// Generation is the ordered copy in the warehouse; zero for none.
	Generation uint64
}

// SetVersion moves the mark of a proposal's ballots or a DAO's voters to the
// publication's revision, unless it is further.
func (w *Writer) SetVersion(ctx context.Context, kind PageKind, subject string, generation uint64) error {
	w.changed.add(versionTag(kind, subject))
	return w.run(ctx, setNewer, []string{string(versionKey(kind, subject))},
		w.revision, Version{w.revision, generation}.encode())
}

// InitVersion sets the mark of pages that are made whatever the revision, where there
// is none yet.
func (w *Writer) InitVersion(ctx context.Context, kind PageKind, subject string) error {
	return w.run(ctx, initVersion, []string{string(versionKey(kind, subject))}, Version{Revision: 1}.encode())
}

// initVersion writes a mark where there is none, or was one.
//
//nolint:gochecknoglobals // scripts are constants that know their own hash
var initVersion = redis.NewScript(`
if redis.call('STRLEN', KEYS[1]) > ` + strconv.Itoa(revisionDigits) + ` then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
return 1`)

// RemoveVersion removes the mark of what is published no longer.
func (w *Writer) RemoveVersion(ctx context.Context, kind PageKind, subject string) error {
	w.changed.add(versionTag(kind, subject))
	return w.remove(ctx, versionKey(kind, subject))
}

// Version reads a mark. The error is ErrMiss or ErrUnavailable.
func (s *Store) Version(ctx context.Context, kind PageKind, subject string) (Version, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	text, err := s.client.Get(ctx, string(versionKey(kind, subject))).Result()
	if err != nil {
		return Version{}, readError(err)
	}
	return decodeVersion(text)
}

// encode begins with the revision as every value does.
func (m Version) encode() []byte {
	return fmt.Appendf(revisionText(m.Revision), ":%d", m.Generation)
}

func decodeVersion(text string) (Version, error) {
	revision, generation, _ := strings.Cut(text, ":")
	var m Version
	var errs [2]error
	m.Revision, errs[0] = strconv.ParseUint(revision, 10, 64)
	m.Generation, errs[1] = strconv.ParseUint(generation, 10, 64)
	if err := errors.Join(errs[:]...); err != nil {
		return Version{}, fmt.Errorf("%w: mark does not decode: %w", ErrMiss, err)
	}
	return m, nil
}

// Page reads the view of a page and its mark in one conversation. The view's error
// is ErrMiss or ErrUnavailable; marked is zero where there is no mark.
func (s *Store) Page(ctx context.Context, r PageRequest) (v View, marked uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	var page, mark *redis.StringCmd
	_, err = s.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		page = pipe.Get(ctx, string(r.Key()))
		if key := r.VersionKey(); key != "" {
			mark = pipe.Get(ctx, string(key))
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return View{}, 0, readError(err)
	}
	if mark != nil {
		if text, err := mark.Result(); err == nil {
			m, _ := decodeVersion(text) // one that does not decode is none
			marked = m.Revision
		}
	}
	value, err := page.Bytes()
	if err != nil {
		return View{}, marked, readError(err)
	}
	v, err = decodeView(value)
	return v, marked, err
}
