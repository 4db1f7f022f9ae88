package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"pnyx/config"
	"pnyx/test/check"
)

func TestSecretURLMasksPasswordsAndNothingElse(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"":                               "",
		"redis://host":                   "redis://host",
		"redis://host:6379/3?db=1":       "redis://host:6379/3?db=1",
		"redis://user@host:6379":         "redis://user@host:6379",
		"redis://:hunter2@host":          "redis://:***@host",
		"rediss://user:hun@ter2@host/1":  "rediss://user:***@host/1",
		"redis://u:%2Fhunter2@[::1]:1/0": "redis://u:***@[::1]:1/0",
		"unix://u:hunter2@/run/r.sock":   "unix://u:***@/run/r.sock",
		"unix:///run/r.sock?db=1":        "unix:///run/r.sock?db=1",
		"redis+sentinel://u:hunter2@s1,s2:1,[::1]:1/2?master=m&sentinel_Password=hunter2": "redis+sentinel://u:***@s1,s2:1,[::1]:1/2?master=m&sentinel_Password=***",
		"rediss+cluster://u:hunter2@a:1,b:1":                                              "rediss+cluster://u:***@a:1,b:1",

		"clickhouse://u:hunter2@a:9000,b,[::1]:9/db?z=1&a=2": "clickhouse://u:***@a:9000,b,[::1]:9/db?z=1&a=2",
		"http://a:8123/?pass%77ord=hunter2":                  "http://a:8123/?pass%77ord=***",
		"https://a?http_proxy=http://u:hunter2%40proxy&x=1":  "https://a?http_proxy=***&x=***",

		"hunter2":                 "***",
		"redis:hunter2":           "***",
		"redis://u:hunter2":       "***",
		"redis://u:1/hunter2@a":   "***",
		"redis://u:1#hunter2":     "***",
		"redis://u:1/2#hunter2":   "***",
		"redis://a?x;pw=hunter2":  "***",
		"redis://u:hunt%er2@a":    "***",
		"redis://a,b:hunter2":     "***",
		"redis://u:hunter2@a b":   "***",
		"redis://u:hunter2@a:1:2": "***",
	} {
		t.Run(url, func(t *testing.T) {
			t.Parallel()
			check.Want(t, want, config.SecretURL(url).String())
		})
	}
}

func TestSecretURLIsMaskedHoweverAConfigIsWritten(t *testing.T) {
	t.Parallel()
	c := check.Must(config.Parse(everything(t)))(t)
	asJSON := check.Must(json.Marshal(c))(t)
	var logged bytes.Buffer
	slog.New(slog.NewJSONHandler(&logged, nil)).InfoContext(t.Context(), "start", slog.Any("url", c.Cache.URL))
	slog.New(slog.NewTextHandler(&logged, nil)).InfoContext(t.Context(), "start", slog.Any("config", c))
	for _, text := range []string{
		fmt.Sprint(c), fmt.Sprintf("%+v", c), fmt.Sprintf("%q", c.Cache.URL), string(asJSON), logged.String(),
	} {
		if strings.Contains(text, "hunter2") || !strings.Contains(text, "***") {
			t.Errorf("got %s, want the passwords masked", text)
		}
	}
	check.Want(t, everything(t)["REDIS_URL"], string(c.Cache.URL), "the conversion gives the password")
}

// Providers of facilitators and RPC endpoints give out addresses that contain the key.
func TestAttackAKeyInAnAddressIsMasked(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"https://f.example.com/":                        "https://f.example.com/",
		"https://f.example.com/hunter2":                 "https://f.example.com/***",
		"https://f.example.com:8443/v2/hunter2/":        "https://f.example.com:8443/***",
		"https://f.example.com/v2%2Fhunter2":            "https://f.example.com/***",
		"https://hunter2@f.example.com":                 "https://***@f.example.com",
		"https://hunter2:@f.example.com":                "https://***@f.example.com",
		"https://me:hunter2@f.example.com/x402":         "https://me:***@f.example.com/***",
		"https://f.example.com?k=hunter2&x=":            "https://f.example.com?k=***&x=",
		"https://f.example.com/a?access_token=hunter2":  "https://f.example.com/***?access_token=***",
		"https://f.example.com/a?client_secret=hunter2": "https://f.example.com/***?client_secret=***",
	} {
		t.Run(url, func(t *testing.T) {
			t.Parallel()
			check.Want(t, want, config.SecretURL(url).String())
		})
	}
	environ := everything(t)
	environ["X402_FACILITATOR_URL"], environ["X402_RPC_URL"] = "https://f.example.com/hunter2/x", "https://r.example.com/hunter2"
	shown := printed(t, environ)
	environ["X402_PAY_TO"], environ["X402_FACILITATOR_URL"] = "nobody", "ftp://f.example.com/hunter2"
	if err := refused(t, environ); strings.Contains(shown+err.Error(), "hunter2") {
		t.Errorf("got %s and the error %v, want the keys masked", shown, err)
	}
}

func FuzzSecretURLHidesEveryPassword(f *testing.F) {
	for _, seed := range []string{"", "hunter2", "a/b", "12/b", "12?b", "12#b", "a@b", "a:b", "%41", "%zz", "x,y:1", "[::1]", "1,b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, password string) {
		for _, frame := range []string{"redis://user:%s@host:6379/0", "clickhouse://user:%s@a:9000,b:9000/db?x=1"} {
			before, after, _ := strings.Cut(frame, "%s")
			got := config.SecretURL(before + password + after).String()
			if got != before+"***"+after && got != "***" && password != "" {
				t.Errorf("password %q: got %s", password, got)
			}
		}
	})
}
