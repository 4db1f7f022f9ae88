package warehouse

import (
	"testing"
	"time"
)

func TestVersionsGrowWhenTheClockIsSetBack(t *testing.T) {
	t.Parallel()

	var c versionClock
	first := c.Next()
	if second := c.Next(); second <= first {
		t.Errorf("got %d after %d, want a later one", second, first)
	}
	ahead := uint64(time.Now().Add(time.Hour).UnixMicro())
	c.Seen(ahead)
	c.Seen(first)
	if got := c.Next(); got != ahead+1 {
		t.Errorf("got %d after %d was read, want the next", got, ahead)
	}
}
