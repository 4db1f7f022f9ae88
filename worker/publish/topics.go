package publish

import (
	"cmp"
	"context"
	"slices"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// topicsAtOnce is how many topics are worked out at a time: their posts are held
// in memory together.
const topicsAtOnce = 500

// linkProposals notes by what proposals and topics name each other, where that has
// changed; the topics follow in publishTopics.
func (p *publication) linkProposals(ctx context.Context, refs []record.RefHash, published []warehouse.ProposalLink) error {
	before, err := p.worker.warehouse.ProposalLinks(ctx, refs)
	if err != nil {
		return err
	}
	var changed []warehouse.ChangedLink
	for _, link := range published {
		if former, held := before[link.Ref]; !held || !sameLink(former, link) {
			changed = append(changed, warehouse.ChangedLink{ProposalLink: link, Previous: former})
		}
	}
	if len(changed) == 0 {
		return nil
	}
	p.relinked = true
	return p.worker.warehouse.WriteProposalLinks(ctx, changed, p.revision)
}

// link says by what topics and the proposal name each other.
func (a *assessment) link() warehouse.ProposalLink {
	return warehouse.ProposalLink{
		Ref: a.proposal.Ref, Key: a.key, Title: a.proposal.Title,
		Names: governance.ProposalNames(a.proposal.Provider, a.proposal.SourceID, a.proposal.ExternalID, a.proposal.SourceURL),
		Topic: governance.TopicLinked(a.proposal.DiscussionURL),
	}
}

func sameLink(a, b warehouse.ProposalLink) bool {
	return a.Key == b.Key && a.Title == b.Title && a.Topic == b.Topic && slices.Equal(a.Names, b.Names)
}

// publishTopics writes the topics that have changed, and those whose proposals
// have. What it writes to Redis is there before the warehouse says so, and the lists
// are outdated last: cut off anywhere, it is done again.
func (p *publication) publishTopics(ctx context.Context) error {
	daos := map[string]bool{}
	forums, err := p.forumsTouched(ctx, daos)
	if err != nil {
		return err
	}
	refs, err := p.topicsTouched(ctx, forums)
	if err != nil {
		return err
	}
	// Two topics may change keys with each other: first all go, then all come.
	for chunk := range slices.Chunk(refs, topicsAtOnce) {
		if err := p.retractTopics(ctx, chunk, daos); err != nil {
			return err
		}
	}
	for chunk := range slices.Chunk(refs, topicsAtOnce) {
		if err := p.publishTopicChunk(ctx, chunk, daos); err != nil {
			return err
		}
	}
	return p.markTopics(ctx, daos)
}

// topicsTouched lists the topics to publish, each once.
func (p *publication) topicsTouched(ctx context.Context, forums []warehouse.Forum) ([]warehouse.TopicRef, error) {
	refs := p.topics
	if refs != nil {
		return refs, nil // they are all there are
	}
	if len(forums) > 0 {
		changed, err := p.worker.warehouse.TopicsChanged(ctx, forums, topicRulesVersion)
		if err != nil {
			return nil, err
		}
		refs = append(refs, changed...)
	}
	if p.relinked {
		linked, err := p.worker.warehouse.TopicsLinked(ctx, p.since)
		if err != nil {
			return nil, err
		}
		refs = append(refs, linked...)
	}
	slices.SortFunc(refs, func(a, b warehouse.TopicRef) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.ExternalID, b.ExternalID))
	})
	return slices.Compact(refs), nil
}

// retractTopics removes the views of topics that moved to another key, and adds the
// DAOs that they belonged to.
func (p *publication) retractTopics(ctx context.Context, refs []warehouse.TopicRef, daos map[string]bool) error {
	before, err := p.worker.warehouse.PublishedTopics(ctx, refs)
	if err != nil {
		return err
	}
	for ref, former := range before {
		if former == p.catalog.Forum(ref.Host).TopicIdentity(ref.ExternalID) {
			continue
		}
		daos[former.DAOID] = true
		if err := p.writer.RemoveView(ctx, cache.TopicDetailKey(former.TopicKey())); err != nil {
			return err
		}
	}
	return nil
}

// publishTopicChunk works out and writes topics, and adds the DAOs that they belong
// to.
func (p *publication) publishTopicChunk(ctx context.Context, refs []warehouse.TopicRef, daos map[string]bool) error {
	assessments, err := p.assessTopics(ctx, refs)
	if err != nil {
		return err
	}
	states := make([]warehouse.TopicState, len(assessments))
	for i := range assessments {
		a := &assessments[i]
		daos[a.identity.DAOID] = true
		if err := p.writeTopic(ctx, a); err != nil {
			return err
		}
		states[i] = a.state(p.revision)
	}
	if err := p.writer.Flush(ctx); err != nil {
		return err
	}
	p.topicsDone += len(states)
	return p.worker.warehouse.WriteTopicStates(ctx, states)
}

// assessTopics reads the topics with the proposals that they are linked to, and
// works them out.
func (p *publication) assessTopics(ctx context.Context, refs []warehouse.TopicRef) ([]topicAssessment, error) {
	topics, err := p.worker.warehouse.Topics(ctx, refs)
	if err != nil {
		return nil, err
	}
	assessments := make([]topicAssessment, len(topics))
	var names, links []string
	for i, topic := range topics {
		assessments[i] = assessTopic(topic, p.catalog.Forum(topic.Host))
		names = append(names, assessments[i].name)
		links = append(links, assessments[i].post.Links...)
	}
	proposals, err := p.worker.warehouse.LinkedProposals(ctx, names, links)
	if err != nil {
		return nil, err
	}
	for i := range assessments {
		assessments[i].link(proposals)
	}
	return assessments, nil
}

// writeTopic writes the view of a topic, or removes that of one that is hidden.
func (p *publication) writeTopic(ctx context.Context, a *topicAssessment) error {
	key := cache.TopicDetailKey(a.identity.TopicKey())
	if !a.topic.Visible {
		return p.writer.RemoveView(ctx, key)
	}
	view, err := cache.NewView(p.head(), a.detail())
	if err != nil {
		return err
	}
	return p.writer.SetView(ctx, key, view)
}

// markTopics outdates the lists of the DAOs, and that of all of them.
func (p *publication) markTopics(ctx context.Context, daos map[string]bool) error {
	if len(daos) == 0 && p.since != 0 {
		return nil
	}
	daos[""] = true
	for id := range daos {
		if err := p.writer.SetVersion(ctx, cache.TopicPage, id, 0); err != nil {
			return err
		}
	}
	return nil
}
