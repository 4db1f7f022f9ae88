package cmd

import (
	"log/slog"
	"maps"
	"reflect"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/follow"
	"pnyx/follow/fetch"
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
	_ = add // until the connectors are there
	u.made = made
	all := make([]follow.Upstream, 0, len(made))
	for _, id := range slices.Sorted(maps.Keys(made)) {
		all = append(all, made[id].upstream)
	}
	return all
}

// addUpstream adds an upstream, which build makes where its settings are new.
type addUpstream func(id string, settings any, build func() follow.Upstream)
