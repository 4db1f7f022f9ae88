package proxy

import (
	"sync"
	"time"
)

const (
	// maxSessions bounds the sessions of ClickHouse that clients name within sessionLife:
	// the server keeps the settings of each in memory for as long.
	maxSessions = 64
	sessionLife = time.Minute
)

// sessions are the names of sessions, and when each was last used.
type sessions struct {
	mu   sync.Mutex
	used map[string]time.Time
}

func (s *sessions) admit(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for other, last := range s.used {
		if now.Sub(last) > sessionLife {
			delete(s.used, other)
		}
	}
	if _, known := s.used[id]; !known && len(s.used) >= maxSessions {
		return false
	}
	if s.used == nil {
		s.used = map[string]time.Time{}
	}
	s.used[id] = now
	return true
}
