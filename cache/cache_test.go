package cache_test

import (
	"strings"
	"testing"
	"time"

	"pnyx/cache"
	"pnyx/test/env"
)

func TestOpenChoosesTheClientByTheURL(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"redis://cache.example:6380":                               "*redis.Client tcp cache.example:6380",
		"redis://cache.example":                                    "*redis.Client tcp cache.example:6379",
		"redis://user:hunter2@cache.example/2?dial_timeout=1s":     "*redis.Client tcp cache.example:6379",
		"rediss://cache.example":                                   "*redis.Client tcp cache.example:6379",
		"unix:///run/redis.sock?db=3":                              "*redis.Client unix /run/redis.sock",
		"redis+cluster://one.example":                              "*redis.ClusterClient [one.example:6379]",
		"redis+cluster://one.example:1,two.example,[::1]:3":        "*redis.ClusterClient [one.example:1 two.example:6379 [::1]:3]",
		"rediss+cluster://:hunter2@one.example:1,two.example:2/":   "*redis.ClusterClient [one.example:1 two.example:2]",
		"redis+sentinel://sentinel.example?master=main":            "*redis.Client tcp FailoverClient",
		"redis+sentinel://one.example:1,two.example/2?master=main": "*redis.Client tcp FailoverClient",
		"rediss+sentinel://u:p%26q@one.example:1?master=main&db=3": "*redis.Client tcp FailoverClient",
		"redis+sentinel://o:1?master=m&sentinel_password=hunter2":  "*redis.Client tcp FailoverClient",
	} {
		t.Run(url, func(t *testing.T) {
			t.Parallel()
			store, err := cache.Open(url, time.Second)
			if err != nil {
				t.Errorf("%s: %v", url, err)
				return
			}
			env.Want(t, want, store.Connects(), url)
			if err := store.Close(); err != nil {
				t.Errorf("close %s: %v", url, err)
			}
		})
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
		"redis://:" + password + "@localhost?" + password,
		"redis://:" + password + "@localhost?dial_timeout=" + password,
		"redis+cluster://:" + password + "@localhost:1,two:2?no_such_option=1",
		"redis+cluster://:" + password + "@localhost:1?dial_timeout=soon",
		"redis+cluster://:" + password + "@localhost:1,two:2:3",
		"redis+sentinel://localhost:1?master=main&password=" + password,
		"redis+sentinel://localhost:1?sentinel_password=" + password,
		"redis+sentinel://:" + password + "@localhost/x?master=main",
		"redis://localhost:1?password=" + password,
		"redis://:%zz" + password + "@localhost",
		"redis://:/" + password + "@localhost",
		"redis://:1/" + password + "@localhost",
		"user:" + password + "@localhost:6379",
		"tcp://" + password + "@localhost",
		"redis\x7f://:" + password + "@localhost",
	} {
		t.Run(url, func(t *testing.T) {
			t.Parallel()
			store, err := cache.Open(url, time.Second)
			if err == nil {
				store.Close()
				t.Fatal("accepted")
			}
			if strings.Contains(err.Error(), password) {
				t.Errorf("the error shows the password: %v", err)
			}
		})
	}
}

// refusals are URLs that somebody may well write, and what the refusal has to say.
func refusals() map[string]string {
	return map[string]string{
		"redis://a:1,b:2":                           "redis+cluster:// or redis+sentinel://",
		"redis://a:1?addr=b:2":                      "joined by commas",
		"redis://a:1?master_name=main":              "redis+sentinel://",
		"redis://a:1?master=main":                   "for redis+sentinel:// alone",
		"redis+cluster://a:1?master=main":           "for redis+sentinel:// alone",
		"redis+cluster://a:1/2":                     "names a database",
		"redis+cluster://a:1?db=2":                  "names a database",
		"redis+sentinel://a:1,b:2":                  "needs ?master=",
		"redis+sentinel://a:1?master=m&master=n":    "master twice",
		"redis+cluster://a?route_by_latency=1":      "answers are read from primaries",
		"redis+cluster://a?read_only=true":          "answers are read from primaries",
		"redis+sentinel://a?master=m&replica_only=": "answers are read from primaries",
		"rediss://a?skip_verify=true":               "SSL_CERT_FILE",
		"redis+cluster://a?username=u":              "user:password@ goes before the hosts",
		"redis://a?pool_sise=3":                     "pool_size",
		"redis://a?pool_size=many":                  "whole numbers",
		"redis+cluster://":                          "is malformed",
		"redis+ring://a,b":                          "is malformed",
		"unix+cluster:///run/redis.sock":            "is malformed",
	}
}

func TestARefusalSaysWhatToWriteInstead(t *testing.T) {
	t.Parallel()
	for url, want := range refusals() {
		t.Run(url, func(t *testing.T) {
			t.Parallel()
			err := cache.CheckURL(url)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want a word on %q", err, want)
			}
		})
	}
}
