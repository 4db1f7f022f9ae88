package worker

import (
	"context"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// forum says whose a host's topics are. Forums number their topics each for itself,
// and so the number is a topic's identity only in the first forum that a DAO names;
// in any other it stands behind the host.
func (p *publication) forum(host string) warehouse.Forum {
	return forumOf(*p.catalog, host)
}

func forumOf(catalog warehouse.Catalog, host string) warehouse.Forum {
	source := record.SourceRef{Provider: governance.Discourse, ID: host}
	f := warehouse.Forum{Host: host, DAOID: ownerOf(catalog, source)}
	for _, of := range catalog.DAOs[f.DAOID].Sources {
		if of == source {
			return f
		}
		if of.Provider == governance.Discourse {
			f.IDPrefix = host + "/"
		}
	}
	return f
}

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
		if now := p.forum(former.Host); now != former {
			p.forums[former.Host] = true
			p.daos[former.DAOID], p.daos[now.DAOID] = true, true
		}
	}
	forums := make([]warehouse.Forum, 0, len(p.forums))
	for host := range p.forums {
		forum := p.forum(host)
		daos[forum.DAOID] = true
		forums = append(forums, forum)
	}
	return forums, nil
}
