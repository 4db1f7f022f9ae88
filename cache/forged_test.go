package cache_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
)

// highest is the largest revision that a value has room for.
const highest = 9999999999999999

func TestAttackEmbeddedRedisNeedsThePassword(t *testing.T) {
	t.Parallel()
	address := env.EmbeddedRedis(t)
	parsed := env.Must(url.Parse(address))(t)
	password, _ := parsed.User.Password()
	if len(password) < 20 {
		t.Errorf("password: got %d characters, want at least 20", len(password))
	}
	for name, user := range map[string]*url.Userinfo{
		"none": nil, "another": url.UserPassword("", strings.ToLower(password)+"0"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			otherUser := *parsed
			otherUser.User = user
			client := env.RedisClient(t, otherUser.String())
			for _, command := range [][]any{
				{"GET", "pnyx:5:view:dao:uniswap"},
				{"SET", "a", "b"},
				{"KEYS", "*"},
				{"FLUSHALL"},
				{"INFO"},
				{"EVAL", "return redis.call('SET', 'a', 'b')", "0"},
				{"SUBSCRIBE", "a"},
				{"PUBLISH", "a", "b"},
			} {
				if got, err := client.Do(t.Context(), command...).Result(); err == nil {
					t.Errorf("%v: got %v, want a refusal", command, got)
				}
			}
		})
	}
	store := env.Must(cache.Open(address, soon))(t)
	defer store.Close()
	if err := store.Ping(t.Context()); err != nil {
		t.Errorf("with the password: got %v, want an answer", err)
	}
}

func TestAttackForgedRevisionIsReplaced(t *testing.T) {
	t.Parallel()
	env.OnEachRedis(t, func(t *testing.T, url string) {
		t.Helper()
		b := newBench(t, url, func() {})
		now := uint64(time.Now().UnixMicro())
		key := cache.DAODetailKey("uniswap")
		b.setView(highest, key, "forged")
		b.setView(now, key, "published")
		b.wantView(key, "published", now)

		// A worker that is late replaces nothing that another has published since.
		b.setView(now-uint64(time.Minute.Microseconds()), key, "late")
		b.wantView(key, "published", now)
		ahead := now + uint64((30 * time.Minute).Microseconds())
		b.setView(ahead, key, "by a clock that is ahead")
		b.setView(now, key, "by a clock that is right")
		b.wantView(key, "by a clock that is ahead", ahead)

		row := governance.DAOListItem{DAOID: "uniswap", Name: "forged"}
		b.publish(highest, func(w *cache.Writer) { w.SetDAO(t.Context(), cache.View{}, row) })
		row.Name = "Uniswap"
		b.publish(now, func(w *cache.Writer) { w.SetDAO(t.Context(), cache.View{}, row) })
		page, err := b.store.DAOPage(t.Context(), query.DAOs{Paging: query.Paging[query.DAOPosition]{Limit: 2}})
		if err != nil || len(page.Items) != 1 || page.Items[0].Name != row.Name || page.View.Revision != now {
			t.Errorf("index: got %+v, %v, want %q at revision %d", page, err, row.Name, now)
		}
	})
}
