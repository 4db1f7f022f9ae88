package cache

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"pnyx/governance"
)

// DAOFilter selects DAOs; a zero field selects all.
type DAOFilter struct {
	HasVoteData    *bool
	HasForumData   *bool
	CoverageStatus governance.Coverage
}

// The directory lists the DAOs in order of their ids, under every filter. Each
// DAO's row is one field of a hash, and one ordered set per filter holds the ids that
// it lets through, so that any page of any filter is read in one conversation and is
// never cold. Sets change together with the row: a reader sees each DAO under
// exactly the filters that its row fits.

// putDAO writes a row unless a newer one is there, and moves the id to the sets
// that are listed first among the keys after the rows' and the state's.
//
//nolint:gochecknoglobals,dupword // scripts are constants that know their own hash; Lua ends twice
var putDAO = redis.NewScript(`
local row = redis.call('HGET', KEYS[1], ARGV[4])
local held = row and tonumber(string.sub(row, 1, ` + strconv.Itoa(revisionDigits) + `))
if held and held > tonumber(ARGV[1]) then return 0 end
local state = tonumber(redis.call('GETRANGE', KEYS[2], 0, ` + strconv.Itoa(revisionDigits-1) + `))
if not state or state <= tonumber(ARGV[1]) then redis.call('SET', KEYS[2], ARGV[3]) end
redis.call('HSET', KEYS[1], ARGV[4], ARGV[2])
local fits = tonumber(ARGV[5])
for i = 3, #KEYS do
	if i < 3 + fits then
		redis.call('ZADD', KEYS[i], 0, ARGV[4])
	else
		redis.call('ZREM', KEYS[i], ARGV[4])
	end
end
return 1`)

// pageOfDAOs reads the ids after a position and their rows, and before them the
// directory's state.
//
//nolint:gochecknoglobals // scripts are constants that know their own hash
var pageOfDAOs = redis.NewScript(`
local ids = redis.call('ZRANGEBYLEX', KEYS[1], ARGV[1], '+', 'LIMIT', 0, ARGV[2])
local page = {redis.call('GET', KEYS[2])}
if #ids == 0 then return page end
local rows = redis.call('HMGET', KEYS[3], unpack(ids))
for i = 1, #ids do
	page[i + 1] = rows[i]
end
return page`)

// SetDAO writes a DAO's row at the publication's revision, under every filter
// that it fits.
func (w *Writer) SetDAO(ctx context.Context, v View, item governance.DAOListItem) error {
	v, err := NewView(v, item)
	if err != nil {
		return err
	}
	v.Revision = w.revision
	row, err := v.encode()
	if err != nil {
		return err
	}
	fitting, others := fittingLists(item)
	return w.putDAO(ctx, v, item.DAOID, row, fitting, others)
}

// RemoveDAO takes a DAO off the directory, unless a newer revision put it there. In
// place of its row stays the revision, so that none before comes back.
func (w *Writer) RemoveDAO(ctx context.Context, v View, daoID string) error {
	v.Revision = w.revision
	return w.putDAO(ctx, v, daoID, revisionText(w.revision), nil, allLists())
}

func (w *Writer) putDAO(ctx context.Context, v View, daoID string, row []byte, fitting, others []string) error {
	v.Payload = nil
	w.changed.add(DAOIndexTag)
	w.changed.add(DAOTag(daoID))
	state, err := v.encode()
	if err != nil {
		return err
	}
	keys := append([]string{string(directoryRowsKey), string(directoryStateKey)}, fitting...)
	return w.run(ctx, putDAO, append(keys, others...), w.revision, row, state, daoID, len(fitting))
}

// DAOIndexPage is one page of the DAO list.
type DAOIndexPage struct {
	// View is the directory's own revision and data time; it has no payload.
	View View
	// Items hold one more than was asked for when another page follows. They are
	// never nil.
	Items []governance.DAOListItem
}

// DAOPage returns the first limit DAOs after an id that a filter lets through,
// in order of their ids, and one more if there is one. The error is ErrMiss for a
// directory that was not written yet, or ErrUnavailable, also for one that has
// lost a row: it must not pass for one without DAOs.
func (s *Store) DAOPage(ctx context.Context, filter DAOFilter, after string, limit int) (DAOIndexPage, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	from := "-"
	if after != "" {
		from = "(" + after
	}
	keys := []string{string(filter.listKey()), string(directoryStateKey), string(directoryRowsKey)}
	values, err := pageOfDAOs.Run(ctx, s.client, keys, from, limit+1).Slice()
	if err != nil {
		return DAOIndexPage{}, readError(err)
	}
	return decodePage(values)
}

// DAORow returns one DAO's row. The error is ErrMiss or ErrUnavailable.
func (s *Store) DAORow(ctx context.Context, daoID string) (item governance.DAOListItem, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	row, err := s.client.HGet(ctx, string(directoryRowsKey), daoID).Result()
	if err != nil {
		return item, readError(err)
	}
	return decodeRow(row)
}

func decodePage(values []any) (DAOIndexPage, error) {
	page := DAOIndexPage{Items: []governance.DAOListItem{}}
	for i, value := range values {
		if i == 0 {
			state, err := decodeReply(value)
			if err != nil {
				return DAOIndexPage{}, err
			}
			page.View = state
			continue
		}
		item, err := decodeRow(value)
		if err != nil {
			return DAOIndexPage{}, fmt.Errorf("%w: the directory has lost a row: %s", ErrUnavailable, err) //nolint:errorlint // it is no miss
		}
		page.Items = append(page.Items, item)
	}
	return page, nil
}

func decodeRow(value any) (governance.DAOListItem, error) {
	var item governance.DAOListItem
	row, err := decodeReply(value)
	if err != nil {
		return item, err
	}
	return item, row.Decode(&item)
}

// decodeReply reads what a script returned of a key.
func decodeReply(value any) (View, error) {
	text, ok := value.(string)
	if !ok {
		return View{}, fmt.Errorf("%w: no value", ErrMiss)
	}
	return decodeView([]byte(text))
}

// fittingLists returns the lists that hold an item, and those that do not.
func fittingLists(item governance.DAOListItem) (fitting, others []string) {
	for _, filter := range allFilters() {
		if filter.fits(item) {
			fitting = append(fitting, string(filter.listKey()))
		} else {
			others = append(others, string(filter.listKey()))
		}
	}
	return fitting, others
}

func (f DAOFilter) fits(item governance.DAOListItem) bool {
	return (f.HasVoteData == nil || *f.HasVoteData == item.HasVoteData) &&
		(f.HasForumData == nil || *f.HasForumData == item.HasForumData) &&
		(f.CoverageStatus == "" || f.CoverageStatus == item.CoverageStatus)
}

func allFilters() []DAOFilter {
	yes, no := true, false
	var filters []DAOFilter
	for _, votes := range []*bool{nil, &yes, &no} {
		for _, forum := range []*bool{nil, &yes, &no} {
			for _, coverage := range append([]governance.Coverage{""}, governance.Coverages()...) {
				filters = append(filters, DAOFilter{HasVoteData: votes, HasForumData: forum, CoverageStatus: coverage})
			}
		}
	}
	return filters
}

func allLists() []string {
	filters := allFilters()
	lists := make([]string, len(filters))
	for i, filter := range filters {
		lists[i] = string(filter.listKey())
	}
	return lists
}
