package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"pnyx/governance"
	"pnyx/governance/query"
)

// The DAO index lists DAOs by id under every filter. The row of each DAO is a field of one hash, and each
// filter has an ordered set of ids, so any page is read in one round trip without a fill. The sets change in
// the script that changes the row: a reader finds each DAO under exactly the filters that its row matches.

// putDAO writes a row unless a newer one is stored. It adds the id to the first sets
// among the keys and removes it from the others. Keys of another type are deleted.
//
// KEYS: rows, state, sets. ARGV: revision, row, state, id, number of matching sets.
//
//nolint:dupword // Lua ends twice
var putDAO = redis.NewScript(IsNewerFunction + `
for i, key in ipairs(KEYS) do
	local kind = redis.call('TYPE', key).ok
	if kind ~= 'none' and kind ~= (i == 1 and 'hash' or i == 2 and 'string' or 'zset') then redis.call('DEL', key) end
end
if is_newer(redis.call('HGET', KEYS[1], ARGV[4]), ARGV[1]) then return 0 end
local state = redis.call('GETRANGE', KEYS[2], 0, ` + strconv.Itoa(RevisionDigits-1) + `)
if not is_newer(state, ARGV[1]) then redis.call('SET', KEYS[2], ARGV[3]) end
redis.call('HSET', KEYS[1], ARGV[4], ARGV[2])
local matching = tonumber(ARGV[5])
for i = 3, #KEYS do
	if i < 3 + matching then
		redis.call('ZADD', KEYS[i], 0, ARGV[4])
	else
		redis.call('ZREM', KEYS[i], ARGV[4])
	end
end
return 1`)

// readDAOs returns the state of the index, empty where rows are there without it or a set is lost, then the
// rows after a position. The set of all DAOs is as large as the sets of DAOs with and without votes.
// KEYS: set, state, rows, sets of both, with, without. ARGV: position, maximum number of rows.
var readDAOs = redis.NewScript(`
local ids = redis.call('ZRANGEBYLEX', KEYS[1], ARGV[1], '+', 'LIMIT', 0, ARGV[2])
local lost = redis.call('ZCARD', KEYS[4]) ~= redis.call('ZCARD', KEYS[5]) + redis.call('ZCARD', KEYS[6])
local page = {lost and '' or redis.call('GET', KEYS[2]) or redis.call('EXISTS', KEYS[3]) == 1 and ''}
if #ids == 0 then return page end
local rows = redis.call('HMGET', KEYS[3], unpack(ids))
for i = 1, #ids do
	page[i + 1] = rows[i]
end
return page`)

// SetDAO writes the row of a DAO at the writer's revision, unless a newer row is stored.
func (w *Writer) SetDAO(ctx context.Context, v View, item governance.DAOListItem) {
	v, err := NewView(v, item)
	w.err = cmp.Or(w.err, err)
	matching, others := listKeys(item)
	w.putDAO(ctx, v, item.DAOID, w.encode(v), matching, others)
}

// RemoveDAO removes a DAO unless a newer row is stored. Its revision stays, to refuse an earlier write.
func (w *Writer) RemoveDAO(ctx context.Context, v View, daoID string) {
	matching, others := listKeys(governance.DAOListItem{}) // together all
	w.putDAO(ctx, v, daoID, EncodeRevision(w.revision), nil, append(matching, others...))
}

func (w *Writer) putDAO(ctx context.Context, v View, daoID string, row []byte, matching, others []string) {
	v.Payload = nil
	w.changed.add(DAOIndexTag)
	w.changed.add(DAOTag(daoID))
	keys := append([]string{string(daoIndexRowsKey), string(daoIndexStateKey)}, matching...)
	queue(ctx, w, putDAO, append(keys, others...), w.revision, row, w.encode(v), daoID, len(matching))
}

// DAOIndexPage is one page of the DAO index.
type DAOIndexPage struct {
	// View holds the revision and data time of the index; it has no payload.
	View View
	// Items hold one item more than requested when another page follows. They are never nil.
	Items []governance.DAOListItem
}

// errLostOfIndex is no ErrMiss: callers must not read it as an index that was never written.
var errLostOfIndex = fmt.Errorf("%w: %w: the DAO index has lost its state, a row or a list", ErrUnavailable, ErrCorrupt)

// DAOPage returns up to q.Limit+1 DAOs that q selects, by id, after q.After. The error is ErrMiss for an index
// that was never written, or ErrUnavailable, with ErrCorrupt for one that has lost a part.
func (s *Store) DAOPage(ctx context.Context, q query.DAOs) (DAOIndexPage, error) {
	from := "-"
	if q.After != nil {
		from = "(" + string(*q.After)
	}
	keys := []string{string(listKey(q)), string(daoIndexStateKey), string(daoIndexRowsKey)}
	for _, votes := range []*bool{nil, new(true), new(false)} {
		part := q
		part.HasVoteData = votes
		keys = append(keys, string(listKey(part)))
	}
	reply, err := Run(ctx, s.conn, readDAOs, keys, from, q.Limit+1).Slice()
	if err = readError(err); errors.Is(err, ErrCorrupt) {
		return DAOIndexPage{}, errLostOfIndex
	} else if err != nil {
		return DAOIndexPage{}, err
	}
	return decodeDAOPage(reply)
}

// DAOIDs returns the ids of all DAOs that the filters of q select, in order. The error is ErrUnavailable.
func (s *Store) DAOIDs(ctx context.Context, q query.DAOs) ([]string, error) {
	ctx, cancel := s.conn.WithTimeout(ctx)
	defer cancel()
	ids, err := Client(s.conn).ZRange(ctx, string(listKey(q)), 0, -1).Result()
	return ids, WrapError(err)
}

// DAORow returns the row of one DAO. The error is ErrMiss or ErrUnavailable.
func (s *Store) DAORow(ctx context.Context, daoID string) (item governance.DAOListItem, err error) {
	ctx, cancel := s.conn.WithTimeout(ctx)
	defer cancel()
	row, err := Client(s.conn).HGet(ctx, string(daoIndexRowsKey), daoID).Result()
	if err != nil {
		return item, WrapError(err)
	}
	return decodeRow(row)
}

func decodeDAOPage(reply []any) (DAOIndexPage, error) {
	state, err := decodeReply(reply[0]) // which is there, perhaps nil
	if errors.Is(err, ErrCorrupt) {
		return DAOIndexPage{}, errLostOfIndex
	} else if err != nil {
		return DAOIndexPage{}, err
	}
	page := DAOIndexPage{View: state, Items: []governance.DAOListItem{}}
	for _, value := range reply[1:] {
		item, err := decodeRow(value)
		if err != nil {
			return DAOIndexPage{}, errLostOfIndex
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

func decodeReply(value any) (View, error) {
	text, ok := value.(string)
	if !ok {
		return View{}, fmt.Errorf("%w: no value", ErrMiss)
	}
	return decodeView([]byte(text))
}

func listKeys(item governance.DAOListItem) (matching, others []string) {
	for _, filter := range allFilters() {
		if matches(filter, item) {
			matching = append(matching, string(listKey(filter)))
		} else {
			others = append(others, string(listKey(filter)))
		}
	}
	return matching, others
}

func matches(q query.DAOs, item governance.DAOListItem) bool {
	return (!item.Flagged || q.WithFlagged()) && (q.HasVoteData == nil || *q.HasVoteData == item.HasVoteData) &&
		(q.HasForumData == nil || *q.HasForumData == item.HasForumData) &&
		(q.Coverage == "" || q.Coverage == item.CoverageStatus)
}

func allFilters() []query.DAOs {
	yes, no := true, false
	var filters []query.DAOs
	for _, votes := range []*bool{nil, &yes, &no} {
		for _, forum := range []*bool{nil, &yes, &no} {
			for _, coverage := range append([]governance.Coverage{""}, governance.Coverages()...) {
				for _, flagged := range []*bool{nil, &yes} {
					filters = append(filters, query.DAOs{HasVoteData: votes, HasForumData: forum, Coverage: coverage, Flagged: flagged})
				}
			}
		}
	}
	return filters
}
