package cache

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"pnyx/governance/query"
)

// Version is the revision at which the pages of a proposal, DAO or list last changed, below which they are
// stale, and the sorted copy they are read from. Every published proposal and DAO has one.
type Version struct {
	Revision uint64
	// Generation is the sorted copy in the warehouse; zero for none.
	Generation uint64
}

// SetVersion sets the version of pages to the writer's revision, unless a newer one is stored.
func (w *Writer) SetVersion(ctx context.Context, scope query.Scope, generation uint64) {
	w.changed.add(ScopeTag(scope))
	queue(ctx, w, setNewer, []string{string(versionKey(scope))}, w.revision, Version{w.revision, generation}.encode())
}

// RaiseVersion makes pages stale that have a version, and are read from the same sorted copy as before. The
// revision rises by one: the publication's would be later than the revision of a copy that is being built, whose
// version would be refused.
func (w *Writer) RaiseVersion(ctx context.Context, scope query.Scope) {
	w.changed.add(ScopeTag(scope))
	queue(ctx, w, raiseVersion, []string{string(versionKey(scope))})
}

// raiseVersion adds one to the revision of a version that is there. KEYS: version.
var raiseVersion = redis.NewScript(`
local stored = redis.pcall('GET', KEYS[1])
if type(stored) ~= 'string' or #stored <= ` + strconv.Itoa(RevisionDigits) + ` then return 0 end
local revision = tonumber(string.sub(stored, 1, ` + strconv.Itoa(RevisionDigits) + `))
if not revision then return 0 end
redis.call('SET', KEYS[1], string.format('%0` + strconv.Itoa(RevisionDigits) + `.0f', revision + 1) .. string.sub(stored, ` + strconv.Itoa(RevisionDigits+1) + `))
return 1`)

// InitVersion sets the lowest version of pages that have none and did not change with this publication.
func (w *Writer) InitVersion(ctx context.Context, scope query.Scope) {
	queue(ctx, w, initVersion, []string{string(versionKey(scope))}, Version{Revision: 1}.encode())
}

// initVersion writes a version where there is none, or only a removal. KEYS: version. ARGV: value.
var initVersion = redis.NewScript(`
local stored = redis.pcall('GET', KEYS[1])
if type(stored) == 'string' and #stored > ` + strconv.Itoa(RevisionDigits) + ` then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
return 1`)

// RemoveVersion removes the version of pages whose subject is no longer published.
func (w *Writer) RemoveVersion(ctx context.Context, scope query.Scope) {
	w.changed.add(ScopeTag(scope))
	w.remove(ctx, versionKey(scope))
}

// Version returns the version of pages. With ErrMiss, the revision is the removal's; zero without one.
func (s *Store) Version(ctx context.Context, scope query.Scope) (Version, error) {
	text, err := Get(ctx, s.conn, versionKey(scope)).Result()
	if err != nil {
		return Version{}, readError(err)
	}
	return decodeVersion(text)
}

func (v Version) encode() []byte { return fmt.Appendf(EncodeRevision(v.Revision), ":%d", v.Generation) }

func decodeVersion(text string) (Version, error) {
	if removed, err := DecodeRevision([]byte(text)); err == nil && len(text) == RevisionDigits {
		return Version{Revision: removed}, fmt.Errorf("%w: the version was removed", ErrMiss)
	}
	revision, generation, _ := strings.Cut(text, ":")
	var v Version
	var errs [2]error
	v.Revision, errs[0] = strconv.ParseUint(revision, 10, 64)
	v.Generation, errs[1] = strconv.ParseUint(generation, 10, 64)
	if err := errors.Join(errs[:]...); err != nil {
		return Version{}, fmt.Errorf("%w: decode a version: %w", ErrMiss, err)
	}
	return v, nil
}

// Page returns the view of a page and its version, zero without one, in one round trip. A page of a subject
// that was removed since is missing. The error is the view's.
func (s *Store) Page(ctx context.Context, r PageRequest) (v View, current Version, err error) {
	page := s.RequestedPages(ctx, []PageRequest{r})[0]
	return page.View, page.Version, page.Err
}

// MissedView reads a view again that was missing. With ErrMiss its subject does not exist; with ErrCorrupt, too,
// Redis has lost the view: the version is there that is written after it and removed after it.
func (s *Store) MissedView(ctx context.Context, key Key) (View, error) {
	published, err := s.CompletePublication(ctx)
	if err != nil {
		return View{}, err
	}
	var read pageRead
	_ = Pipelined(ctx, s.conn, func(pipe redis.Pipeliner) { // each command has its own error
		read.page = pipe.Get(ctx, string(key))
		if scope := key.scope(); scope != (query.Scope{}) {
			read.version = pipe.Get(ctx, string(versionKey(scope)))
		}
	})
	v, version, err := read.result()
	complete := version.Revision > 0 && version.Revision <= published.Revision+1 // which RaiseVersion may have added
	if errors.Is(err, ErrMiss) && read.page.Val() == "" && complete {
		err = fmt.Errorf("%w: %w: lost", ErrMiss, ErrCorrupt)
	}
	return v, err
}

// RequestedPage is a page that a worker is to make, as it is stored before that.
type RequestedPage struct {
	// View, Version and Err are what Store.Page returns.
	View    View
	Version Version
	Err     error
}

// RequestedPages reads pages in one round trip.
func (s *Store) RequestedPages(ctx context.Context, requests []PageRequest) []RequestedPage {
	reads := make([]pageRead, len(requests))
	_ = Pipelined(ctx, s.conn, func(pipe redis.Pipeliner) { // each command has its own error
		for i, r := range requests {
			reads[i].page = pipe.Get(ctx, string(r.Key()))
			if key := r.VersionKey(); key != "" {
				reads[i].version = pipe.Get(ctx, string(key))
			}
		}
	})
	pages := make([]RequestedPage, len(requests))
	for i := range pages {
		pages[i].View, pages[i].Version, pages[i].Err = reads[i].result()
	}
	return pages
}

// pageRead is the reading of a page and its version, which is nil for a page without one.
type pageRead struct{ page, version *redis.StringCmd }

func (p pageRead) result() (v View, current Version, err error) {
	var removed uint64
	if p.version != nil {
		text, err := p.version.Result()
		switch {
		case err == nil:
			if current, err = decodeVersion(text); err != nil {
				removed, current = current.Revision, Version{}
			}
		case !errors.Is(readError(err), ErrMiss):
			return View{}, Version{}, WrapError(err)
		}
	}
	value, err := p.page.Bytes()
	if err != nil {
		return View{}, current, readError(err)
	}
	if v, err = decodeView(value); err == nil && !v.Absent && v.Revision < removed {
		err = ErrMiss
	}
	return v, current, err
}
