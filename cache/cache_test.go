package cache_test

import (
	"strings"
	"testing"
	"time"

	"pnyx/cache"
)

func TestOpenChoosesTheClientByTheURL(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"redis://cache.example:6380":                                       "*redis.Client tcp cache.example:6380",
		"redis://cache.example":                                            "*redis.Client tcp cache.example:6379",
		"redis://user:hunter2@cache.example/2?dial_timeout=1s":             "*redis.Client tcp cache.example:6379",
		"rediss://cache.example":                                           "*redis.Client tcp cache.example:6379",
		"unix:///run/redis.sock":                                           "*redis.Client unix /run/redis.sock",
		"redis://one.example:1?addr=two.example:2&addr=three.example:3":    "*redis.ClusterClient [one.example:1 two.example:2 three.example:3]",
		"rediss://:hunter2@one.example:1?addr=two.example:2":               "*redis.ClusterClient [one.example:1 two.example:2]",
		"redis://sentinel.example:26379?master_name=main":                  "*redis.Client tcp FailoverClient",
		"redis://one.example:1?addr=two.example:2&master_name=main":        "*redis.Client tcp FailoverClient",
		"redis://one.example:1?master_name=main&username=u&password=p%26q": "*redis.Client tcp FailoverClient",
	} {
		store, err := cache.Open(url, time.Second)
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		if got := store.Connects(); got != want {
			t.Errorf("%s: got %s, want %s", url, got, want)
		}
		if err := store.Close(); err != nil {
			t.Errorf("close %s: %v", url, err)
		}
	}
}

func TestOpenRefusesWithoutShowingThePassword(t *testing.T) {
	t.Parallel()
	const password = "hunter2"
	for _, url := range []string{
		"", password, "localhost:6379", "http://localhost", "redis:/localhost/x/y",
		"http://:" + password + "@localhost",
		"redis://:" + password + "@localhost:port",
		"redis://:" + password + "@localhost/db",
		"redis://:" + password + "@localhost?no_such_option=1",
		"redis://:" + password + "@localhost:1?addr=two:2&no_such_option=1",
		"redis://:" + password + "@localhost:1?addr=two:2&dial_timeout=soon",
		"redis://localhost:1?master_name=main&no_such_option=1&password=" + password,
		"redis://localhost:1?master_name=main&sentinel_password=" + password,
		"redis://localhost:1?password=" + password,
		"redis://:%zz" + password + "@localhost",
		"redis://:/" + password + "@localhost",
		"redis://:1/" + password + "@localhost",
		"user:" + password + "@localhost:6379",
		"tcp://" + password + "@localhost",
		"redis\x7f://:" + password + "@localhost",
	} {
		store, err := cache.Open(url, time.Second)
		if err == nil {
			store.Close()
			t.Errorf("%q: accepted", url)
			continue
		}
		if strings.Contains(err.Error(), password) {
			t.Errorf("%q: the error shows the password: %v", url, err)
		}
	}
}
