package drills

import "time"

// networkDrills disturb the links between the processes.
func networkDrills() []drill {
	return []drill{
		{
			name: "API to Redis: 40 ms", fault: "every answer 40 ms later, for 10 s", lasts: 10 * time.Second,
			breaks: func(s *deployment) func() { s.apiToRedis.delay(40 * time.Millisecond); return s.apiToRedis.mend },
		},
		{
			name: "API to Redis: 400 ms", fault: "every answer 400 ms later, beyond what a node waits, for 10 s", lasts: 10 * time.Second,
			breaks: func(s *deployment) func() { s.apiToRedis.delay(400 * time.Millisecond); return s.apiToRedis.mend },
		},
		{
			name: "API to Redis: cut", fault: "connections are broken and refused for 8 s", lasts: 8 * time.Second,
			breaks: func(s *deployment) func() { s.apiToRedis.close(); return s.apiToRedis.open },
		},
		{
			name: "API to Redis: silence", fault: "nothing gets through for 8 s, and nobody is told", lasts: 8 * time.Second,
			breaks: func(s *deployment) func() { s.apiToRedis.swallow(); return s.apiToRedis.mend },
		},
		{
			name: "Worker to Redis: silence", fault: "nothing gets through for 25 s", lasts: 25 * time.Second,
			breaks: func(s *deployment) func() { s.workerToRedis.swallow(); return s.workerToRedis.mend },
		},
		{
			name: "Worker to ClickHouse: silence", fault: "nothing gets through for 25 s", lasts: 25 * time.Second,
			breaks: func(s *deployment) func() { s.workerToEngine.swallow(); return s.workerToEngine.mend },
		},
		{
			name: "Worker to ClickHouse: cut", fault: "connections are broken and refused for 10 s", lasts: 10 * time.Second,
			breaks: func(s *deployment) func() { s.workerToEngine.close(); return s.workerToEngine.open },
		},
	}
}
