package publish

import (
	"context"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// touchForum has the topics of a forum looked at.
func (p *publication) touchForum(source record.SourceRef) {
	if source.Provider == governance.Discourse {
		p.forums[source.ID] = true
	}
}

// touchAllForums has every forum looked at, and every link.
func (p *publication) touchAllForums() {
	p.relinked = true
	for source := range p.catalog.Sources {
		p.touchForum(source)
	}
}

// forumsTouched returns the forums to look at with those that have changed hands
// beside them, which no record of their own tells. It adds the DAOs concerned.
func (p *publication) forumsTouched(ctx context.Context, daos map[string]bool) ([]warehouse.Forum, error) {
	if len(p.forums) == 0 {
		return nil, nil
	}
	published, err := p.worker.warehouse.PublishedForums(ctx)
	if err != nil {
		return nil, err
	}
	for _, former := range published {
		if now := p.catalog.Forum(former.Host); now != former {
			p.forums[former.Host] = true
			p.daos[former.DAOID], p.daos[now.DAOID] = true, true
		}
	}
	forums := make([]warehouse.Forum, 0, len(p.forums))
	for host := range p.forums {
		forum := p.catalog.Forum(host)
		daos[forum.DAOID] = true
		forums = append(forums, forum)
	}
	return forums, nil
}
