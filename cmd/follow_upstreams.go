package cmd

import (
	"cmp"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/fetch"
	"pnyx/follow"
	"pnyx/follow/chain"
	"pnyx/follow/forum"
	"pnyx/follow/hub"
	"pnyx/follow/sources"
	"pnyx/follow/tally"
)

type upstreams struct {
	logger  *slog.Logger
	metrics prometheus.Registerer

	contact sources.Text
	client  *fetch.Client
	made    map[string]madeUpstream
}

type madeUpstream struct {
	settings any
	upstream follow.Upstream
}

// of returns the upstreams of a file. One with the same settings is the same value: the follower lets it go on.
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
	u.addChains(file, add)
	u.addHub(file, add)
	u.addForums(file, add)
	u.addTally(file, add)
	u.made = made
	all := make([]follow.Upstream, 0, len(made))
	for _, id := range slices.Sorted(maps.Keys(made)) {
		all = append(all, made[id].upstream)
	}
	return all
}

// addUpstream adds an upstream, which build makes where its settings are new.
type addUpstream func(id string, settings any, build func() follow.Upstream)

// host returns the host of an address. perMinute is its pace, or 0 for the default.
func (u *upstreams) host(address sources.Address, perMinute sources.Number, usual fetch.Pace) *fetch.Host {
	pace := usual
	if perMinute > 0 {
		rate := int(min(perMinute, 1e6))
		pace = fetch.Pace{Requests: rate, Per: time.Minute, Burst: max(rate*usual.Burst/usual.Requests, 1)}
	}
	return u.client.Host(address.URL(), pace)
}

// snapshotRegistry is the address of Snapshot's registry of delegations, which is the same on all chains.
const snapshotRegistry = "0x469788fe6e9e9681c6ebf3bf78e7fd26fc015446"

// The registry of the Ethereum Name Service, and the chain on which it is.
const (
	nameRegistry = "0x00000000000c2e074ec69a0dfb2997ba6c7d2e1e"
	nameChain    = 1
)

func (u *upstreams) addChains(file sources.File, add addUpstream) {
	for id, settings := range file.Chains {
		governors := file.Governors(id)
		if len(governors) == 0 {
			continue
		}
		all := struct {
			chain, clock   sources.Chain
			governors      []sources.Governor
			tokens, spaces []string
		}{settings, file.Chains[settings.ClockChain], governors, file.Tokens(id), file.Spaces()}
		add(string(id), all, func() follow.Upstream {
			o := chain.Options{
				ChainID: id.Number(), Endpoints: u.endpoints(all.chain),
				ClockChainID: settings.ClockChain.Number(), ClockEndpoints: u.endpoints(all.clock),
				Finality: uint64(settings.Finality), Interval: time.Duration(settings.PollInterval),
				Logger: u.logger, Metrics: u.metrics, Delegations: true, Tokens: all.tokens,
			}
			if len(all.spaces) > 0 {
				o.Registries = []chain.Registry{{Address: snapshotRegistry, Spaces: all.spaces}}
			}
			if o.ChainID == nameChain {
				o.NameRegistry = nameRegistry
			}
			for _, g := range governors {
				followed := chain.Governor{Address: g.ID.Address(), Timelock: string(g.Timelock), Token: string(g.Token)}
				if first := uint64(g.FirstBlock); first > 0 {
					followed.FirstBlock = &first
				}
				o.Governors = append(o.Governors, followed)
			}
			return chain.New(o)
		})
	}
}

func (u *upstreams) endpoints(c sources.Chain) (hosts []*fetch.Host) {
	for _, address := range c.RPC {
		hosts = append(hosts, u.host(address, c.Rate, fetch.Pace{Requests: 600, Per: time.Minute, Burst: 20}))
	}
	return hosts
}

func (u *upstreams) addHub(file sources.File, add addUpstream) {
	settings := struct {
		sources.Hub
		spaces []string
	}{Hub: file.Snapshot}
	settings.spaces = file.Spaces()
	if len(settings.spaces) == 0 {
		return
	}
	address := cmp.Or(settings.URL, "https://hub.snapshot.org/graphql")
	add("snapshot:"+address.URL().Host, settings, func() follow.Upstream {
		pace := hub.Pace(settings.APIKey != "")
		return &hub.Hub{
			Host: u.host(address, settings.Rate, pace), APIKey: string(settings.APIKey), Spaces: settings.spaces, Logger: u.logger,
		}
	})
}

func (u *upstreams) addForums(file sources.File, add addUpstream) {
	for _, dao := range file.DAOs {
		for _, name := range dao.Forums {
			settings := file.Forums[name]
			address := cmp.Or(settings.URL, sources.Address("https://"+name))
			add("discourse:"+string(name), settings, func() follow.Upstream {
				return &forum.Forum{
					Name: string(name), Host: u.host(address, settings.Rate, forum.Pace(settings.APIKey != "")),
					Key: string(settings.APIKey), User: string(settings.APIUser), AddressField: string(settings.AddressField),
				}
			})
		}
	}
}

func (u *upstreams) addTally(file sources.File, add addUpstream) {
	settings := struct {
		sources.Tally
		slugs []string
	}{Tally: file.Tally}
	for _, dao := range file.DAOs {
		for _, slug := range dao.Tally {
			settings.slugs = append(settings.slugs, string(slug))
		}
	}
	if len(settings.slugs) == 0 {
		return
	}
	address := cmp.Or(settings.URL, "https://api.tally.xyz/query")
	add("tally:"+address.URL().Host, settings, func() follow.Upstream {
		return &tally.Tally{
			Host: u.host(address, settings.Rate, tally.Pace()), APIKey: string(settings.APIKey), Slugs: settings.slugs,
		}
	})
}
