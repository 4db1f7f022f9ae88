package cmd

import (
	"cmp"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/follow"
	"pnyx/follow/fetch"
	"pnyx/follow/hub"
	"pnyx/follow/sources"
)

// upstreams makes the upstreams of a sources file.
type upstreams struct {
	logger  *slog.Logger
	metrics prometheus.Registerer

	contact sources.Text
	client  *fetch.Client
	made    map[string]madeUpstream
}

// madeUpstream is an upstream with what it was made of.
type madeUpstream struct {
	settings any
	upstream follow.Upstream
}

// of returns the upstreams of a file. One whose settings are as before is the same value,
// by which the follower knows that it goes on undisturbed.
func (u *upstreams) of(file sources.File) []follow.Upstream {
	if u.client == nil || u.contact != file.Contact {
		u.contact, u.made = file.Contact, nil
		u.client = fetch.New(fetch.Options{
			UserAgent: "pnyx/" + thisBuild().Version + " (" + string(file.Contact) + ")",
			Logger:    u.logger, Metrics: u.metrics,
		})
	}
	made := map[string]madeUpstream{}
	add := func(id string, settings any, build func() follow.Upstream) {
		before, known := u.made[id]
		if !known || !reflect.DeepEqual(before.settings, settings) {
			before = madeUpstream{settings, build()}
		}
		made[id] = before
	}
	u.addHub(file, add)
	u.made = made
	all := make([]follow.Upstream, 0, len(made))
	for _, id := range slices.Sorted(maps.Keys(made)) {
		all = append(all, made[id].upstream)
	}
	return all
}

// addUpstream adds an upstream, which build makes where its settings are new.
type addUpstream func(id string, settings any, build func() follow.Upstream)

// host returns the host of an address. perMinute is its pace, or 0 for that of the default.
func (u *upstreams) host(address sources.Address, perMinute sources.Number, usual fetch.Pace) *fetch.Host {
	pace := usual
	if perMinute > 0 {
		rate := int(min(perMinute, 1e6)) //nolint:gosec // bounded
		pace = fetch.Pace{Requests: rate, Per: time.Minute, Burst: max(rate*usual.Burst/usual.Requests, 1)}
	}
	return u.client.Host(address.URL(), pace)
}

// addHub adds the Snapshot hub with all followed spaces.
func (u *upstreams) addHub(file sources.File, add addUpstream) {
	settings := struct {
		sources.Hub
		spaces []string
	}{Hub: file.Snapshot}
	for _, dao := range file.DAOs {
		for _, space := range dao.Snapshot {
			settings.spaces = append(settings.spaces, string(space))
		}
	}
	if len(settings.spaces) == 0 {
		return
	}
	address := cmp.Or(settings.URL, "https://hub.snapshot.org/graphql")
	add("snapshot:"+address.URL().Host, settings, func() follow.Upstream {
		// A third of what the hub allows at once is left for other programs at this address.
		pace := fetch.Pace{Requests: 90, Per: time.Minute, Burst: 30}
		if settings.APIKey != "" {
			pace.Requests = 300
		}
		return hub.New(hub.Options{
			Host: u.host(address, settings.Rate, pace), APIKey: string(settings.APIKey), Spaces: settings.spaces, Logger: u.logger,
		})
	})
}
