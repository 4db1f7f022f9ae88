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
	// made are the upstreams of the file, and before those of the file before it, by id.
	made, before map[string]madeUpstream
}

type madeUpstream struct {
	settings []any
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
	u.made, u.before = map[string]madeUpstream{}, u.made
	u.addChains(file)
	u.addHub(file)
	u.addForums(file)
	u.addTally(file)
	all := make([]follow.Upstream, 0, len(u.made))
	for _, id := range slices.Sorted(maps.Keys(u.made)) {
		all = append(all, u.made[id].upstream)
	}
	return all
}

// add adds an upstream, which build makes where its settings are new.
func (u *upstreams) add(id string, settings []any, build func() follow.Upstream) {
	one, known := u.before[id]
	if !known || !reflect.DeepEqual(one.settings, settings) {
		one = madeUpstream{settings, build()}
	}
	u.made[id] = one
}

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

func (u *upstreams) addChains(file sources.File) {
	spaces := file.Spaces()
	for id, settings := range file.Chains {
		clock, governors, tokens := file.Chains[settings.ClockChain], file.Governors(id), file.Tokens(id)
		if len(governors) == 0 {
			continue
		}
		u.add(string(id), []any{settings, clock, governors, tokens, spaces}, func() follow.Upstream {
			o := chain.Options{
				ChainID: id.Number(), Endpoints: u.endpoints(settings),
				ClockChainID: settings.ClockChain.Number(), ClockEndpoints: u.endpoints(clock),
				Finality: uint64(settings.Finality), Interval: time.Duration(settings.PollInterval),
				Logger: u.logger, Metrics: u.metrics, Delegations: true, Tokens: tokens,
			}
			if len(spaces) > 0 {
				o.Registries = []chain.Registry{{Address: snapshotRegistry, Spaces: spaces}}
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

func (u *upstreams) addHub(file sources.File) {
	settings, spaces := file.Snapshot, file.Spaces()
	if len(spaces) == 0 {
		return
	}
	address := cmp.Or(settings.URL, "https://hub.snapshot.org/graphql")
	u.add("snapshot:"+address.URL().Host, []any{settings, spaces}, func() follow.Upstream {
		pace := hub.Pace(settings.APIKey != "")
		return &hub.Hub{Host: u.host(address, settings.Rate, pace), APIKey: string(settings.APIKey), Spaces: spaces, Logger: u.logger}
	})
}

func (u *upstreams) addForums(file sources.File) {
	for _, dao := range file.DAOs {
		for _, name := range dao.Forums {
			settings := file.Forums[name]
			address := cmp.Or(settings.URL, sources.Address("https://"+name))
			u.add("discourse:"+string(name), []any{settings}, func() follow.Upstream {
				return &forum.Forum{
					Name: string(name), Host: u.host(address, settings.Rate, forum.Pace(settings.APIKey != "")),
					Key: string(settings.APIKey), User: string(settings.APIUser), AddressField: string(settings.AddressField),
				}
			})
		}
	}
}

func (u *upstreams) addTally(file sources.File) {
	settings := file.Tally
	var slugs []string
	for _, dao := range file.DAOs {
		for _, slug := range dao.Tally {
			slugs = append(slugs, string(slug))
		}
	}
	if len(slugs) == 0 {
		return
	}
	address := cmp.Or(settings.URL, "https://api.tally.xyz/query")
	u.add("tally:"+address.URL().Host, []any{settings, slugs}, func() follow.Upstream {
		return &tally.Tally{Host: u.host(address, settings.Rate, tally.Pace()), APIKey: string(settings.APIKey), Slugs: slugs}
	})
}
