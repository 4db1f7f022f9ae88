package cmd

import (
	"errors"

	"pnyx/api"
	"pnyx/cache"
	"pnyx/edge/purge"
)

// errNowhereToPurge is a worker that is to purge caches, and is not told where.
var errNowhereToPurge = errors.New("PNYX_PURGE_URL: is needed by the worker where PNYX_PURGE_KIND is set")

// openPurger starts what purges the caches in front of the API, and returns how it
// is told; nil when there are none.
func (n *node) openPurger() (func([]cache.Tag), error) {
	settings := n.cfg.Purge
	if settings.Kind == "" {
		return nil, nil //nolint:nilnil // nobody is to be told, which is no mistake
	}
	if settings.URLs == "" {
		return nil, errNowhereToPurge
	}
	purger := purge.New(purge.Options{
		Kind:       purge.Kind(settings.Kind),
		URLs:       settings.URLs.All(),
		Token:      string(settings.Token),
		Everything: string(cache.EverythingTag),
		Settle:     api.NodeLag,
		Keeps:      api.MaxPurgedAge(),
		Logger:     n.logger,
		Metrics:    n.registry,
	})
	n.background(purger.Run)
	return func(tags []cache.Tag) {
		names := make([]string, len(tags))
		for i, tag := range tags {
			names[i] = string(tag)
		}
		purger.Purge(names)
	}, nil
}
