package warehouse

import (
	"testing"
	"time"
)

func TestVersionsGrowWhenTheClockIsSetBack(t *testing.T) {
	t.Parallel()

	var c versionClock
	first := c.next()
	if second := c.next(); second <= first {
		t.Errorf("got %d after %d, want a later one", second, first)
	}
	ahead := uint64(time.Now().Add(time.Hour).UnixMicro())
	c.seen(ahead)
	c.seen(first)
	if got := c.next(); got != ahead+1 {
		t.Errorf("got %d after %d was read, want the next", got, ahead)
	}
}
