package cache_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pnyx/cache"
	"pnyx/test/env"
)

// A user of Redis 7 may use no channel before it is told which.
func TestARefusedSubscriptionIsMadeOnceItIsAllowed(t *testing.T) {
	t.Parallel()
	server := env.Redis(t)
	admin := env.RedisClient(t, server.URL)
	do := func(args ...any) { env.MustDo(t, admin.Do(t.Context(), args...).Err()) }
	do("ACL", "SETUSER", "pnyx", "on", ">secret", "~*", "+@all", "resetchannels")
	store := env.Must(cache.Open(strings.Replace(server.URL, "redis://", "redis://pnyx:secret@", 1), time.Second))(t)
	t.Cleanup(func() { store.Close() })
	connected := make(chan struct{}, 1)
	go store.SubscribeCommitted(t.Context(), func() {
		select {
		case connected <- struct{}{}:
		default:
		}
	})
	env.Until(t, func() error {
		denied, err := admin.Do(t.Context(), "ACL", "LOG").Slice()
		if err == nil && len(denied) == 0 {
			err = errors.New("nothing was refused yet")
		}
		return err
	})
	do("ACL", "SETUSER", "pnyx", "allchannels")
	select {
	case <-connected:
	case <-time.After(10 * time.Second):
		t.Fatal("the subscription that was refused is never made")
	}
}
