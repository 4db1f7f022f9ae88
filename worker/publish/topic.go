package publish

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/governance/rules"
	"pnyx/warehouse"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/records"
)

// TopicRulesVersion is of the rules for topics, posts and links. Raising it publishes every topic again.
const TopicRulesVersion = 2

type topicPublication struct {
	*run
	daos      map[string]bool
	published int
	// differing are the topics that differ from what was published, in a publication of everything that does not
	// tell all. former is what was published: topics that change after differing was read differ from it.
	differing map[records.TopicRef]bool
	former    map[records.TopicRef]counts.PublishedTopic
}

// publish writes Redis before states, and the versions of lists last: what is cut off is done again.
func (t *topicPublication) publish(ctx context.Context, scope topicScope) error {
	const topicBatchSize = 1000 // how many topics are evaluated together: their posts are in memory at the same time
	refs, err := t.changed(ctx, scope)
	if err != nil {
		return err
	}
	// Two topics may exchange their keys: all former keys are removed before any topic is written.
	for chunk := range slices.Chunk(refs, topicBatchSize) {
		if err := t.retract(ctx, chunk); err != nil {
			return err
		}
	}
	chunks := slices.Collect(slices.Chunk(refs, topicBatchSize))
	if err := readAhead(ctx, chunks, t.evaluate, t.write); err != nil {
		return err
	}
	t.setVersions(ctx)
	return nil
}

func (t *topicPublication) changed(ctx context.Context, scope topicScope) ([]records.TopicRef, error) {
	if t.everything && t.untold == nil {
		return scope.all, nil
	}
	var refs []records.TopicRef
	if len(scope.forums) > 0 {
		forums, err := t.forums(ctx, scope)
		if err != nil {
			return nil, err
		}
		if refs, err = records.TopicsChanged(ctx, t.Warehouse, forums, TopicRulesVersion, scope.since); err != nil {
			return nil, err
		}
	}
	if scope.relinked {
		linked, err := records.TopicsLinked(ctx, t.Warehouse, scope.since)
		if err != nil {
			return nil, err
		}
		refs = append(refs, linked...)
	}
	if t.everything {
		t.differing = make(map[records.TopicRef]bool, len(refs))
		t.former = make(map[records.TopicRef]counts.PublishedTopic, len(scope.all))
		addAll(t.differing, refs)
		return scope.all, nil
	}
	slices.SortFunc(refs, func(a, b records.TopicRef) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.ExternalID, b.ExternalID))
	})
	return slices.Compact(refs), nil
}

// forums returns the forums of a scope, and forums whose topics are published under another DAO: no record tells that.
func (t *topicPublication) forums(ctx context.Context, scope topicScope) ([]records.Forum, error) {
	published, err := counts.PublishedForums(ctx, t.Warehouse)
	if err != nil {
		return nil, err
	}
	hosts := maps.Clone(scope.forums)
	for _, former := range published {
		if t.catalog.Forum(former.Host) != former {
			hosts[former.Host] = true
		}
	}
	forums := make([]records.Forum, 0, len(hosts))
	for host := range hosts {
		forum := t.catalog.Forum(host)
		t.daos[forum.DAOID] = true
		forums = append(forums, forum)
	}
	return forums, nil
}

func (t *topicPublication) retract(ctx context.Context, refs []records.TopicRef) error {
	published, err := counts.PublishedTopics(ctx, t.Warehouse, refs)
	if err != nil {
		return err
	}
	if t.former != nil {
		maps.Copy(t.former, published)
	}
	for ref, topic := range published {
		former := topic.Identity
		if former == t.catalog.Forum(ref.Host).TopicIdentity(ref.ExternalID) {
			continue
		}
		t.daos[former.DAOID] = true
		t.noteTopic(ref, former)
		t.writer.RemoveView(ctx, cache.TopicDetailKey(former.TopicKey()))
	}
	return nil
}

func (t *topicPublication) write(ctx context.Context, evaluations []topicEvaluation) error {
	states := make([]counts.TopicState, len(evaluations))
	for i := range evaluations {
		e := &evaluations[i]
		t.daos[e.identity.DAOID] = true
		t.writeTopic(ctx, e)
		states[i] = e.state(t.Revision)
	}
	if err := t.writer.Flush(ctx); err != nil {
		return err
	}
	t.published += len(states)
	return counts.WriteTopicStates(ctx, t.Warehouse, states)
}

func (t *topicPublication) evaluate(ctx context.Context, refs []records.TopicRef) ([]topicEvaluation, error) {
	topics, err := records.Topics(ctx, t.Warehouse, refs)
	if err != nil {
		return nil, err
	}
	evaluations := make([]topicEvaluation, len(topics))
	var names, links []string
	for i, topic := range topics {
		evaluations[i] = evaluateTopic(topic, t.catalog.Forum(topic.Host))
		names = append(names, evaluations[i].name)
		links = append(links, evaluations[i].post.Links...)
	}
	proposals, err := counts.LinkedProposals(ctx, t.Warehouse, names, links)
	if err != nil {
		return nil, err
	}
	for i := range evaluations {
		evaluations[i].link(proposals)
	}
	return evaluations, nil
}

func (t *topicPublication) noteTopic(ref records.TopicRef, identity governance.Identity) {
	if t.differing == nil || t.differing[ref] {
		t.noteChange(governance.TopicChange, string(identity.TopicKey()), identity.DAOID)
	}
}

func (t *topicPublication) writeTopic(ctx context.Context, e *topicEvaluation) {
	ref := e.topic.Ref()
	if former := t.former[ref]; t.former != nil && (former.Version != e.topic.Version || former.Category != e.topic.Category) {
		t.differing[ref] = true
	}
	t.noteTopic(ref, e.identity)
	key := cache.TopicDetailKey(e.identity.TopicKey())
	if !e.topic.Visible {
		t.writer.RemoveView(ctx, key)
		return
	}
	t.writer.SetPayload(ctx, key, t.head(), e.detail())
}

func (t *topicPublication) setVersions(ctx context.Context) {
	if len(t.daos) == 0 && !t.everything {
		return
	}
	t.daos[""] = true
	for id := range t.daos {
		t.writer.SetVersion(ctx, query.Topics{DAOID: id}.Scope(), 0)
	}
}

type topicEvaluation struct {
	topic    records.Topic
	identity governance.Identity
	post     governance.Post
	name     string // by which links refer to the topic
	related  []governance.RelatedProposal
	// score and relevant are by rules.TopicRelevance.
	score    int
	relevant bool
}

// evaluateTopic computes all but what depends on links. It drops the HTML, so that a batch holds only text.
func evaluateTopic(topic records.Topic, forum records.Forum) topicEvaluation {
	e := topicEvaluation{
		topic:    topic,
		identity: forum.TopicIdentity(topic.ExternalID),
		post:     governance.ParsePost(topic.BodyHTML),
		name:     governance.TopicName(topic.Host, topic.ExternalID),
	}
	e.topic.BodyHTML = ""
	return e
}

// link selects the topic's proposals from the batch, in their order, and computes the relevance.
func (e *topicEvaluation) link(proposals []counts.ProposalLink) {
	e.related = []governance.RelatedProposal{}
	for _, proposal := range proposals {
		linked := slices.ContainsFunc(proposal.Names, func(name string) bool {
			_, found := slices.BinarySearch(e.post.Links, name)
			return found
		})
		if !proposal.Flagged && (linked || proposal.Topic == e.name) {
			e.related = append(e.related, governance.RelatedProposal{
				ProposalKey: proposal.Key, Title: governance.OptionalText(proposal.Title),
			})
		}
	}
	e.score, e.relevant = rules.TopicRelevance(rules.TopicFacts{
		Title: e.topic.Title, Category: e.topic.Category, Tags: e.topic.Tags, Body: e.post.Text,
		Replies: e.replies(), Proposals: len(e.related),
	})
}

func (e *topicEvaluation) replies() uint64 { return max(e.topic.Posts, 1) - 1 }

func (e *topicEvaluation) row() governance.ForumTopic {
	return governance.ForumTopic{
		TopicKey: e.identity.TopicKey(), Identity: e.identity,
		Title: e.topic.Title, Summary: governance.OptionalText(e.post.Summary), URL: e.topic.URL(),
		Author:   governance.OptionalText(e.topic.Author),
		Category: governance.OptionalText(e.topic.Category), Tags: append([]string{}, e.topic.Tags...),
		RelevanceScore: e.score,
		Replies:        governance.CountOf(e.replies()), Posts: governance.CountOf(e.topic.Posts),
		Likes: governance.CountOf(e.topic.Likes), Views: governance.CountOf(e.topic.Views),
		CreatedAt: e.topic.CreatedAt, UpdatedAt: e.topic.UpdatedAt,
	}
}

func (e *topicEvaluation) detail() governance.ForumTopicDetail {
	return governance.ForumTopicDetail{
		ForumTopic: e.row(), BodyText: governance.OptionalText(e.post.Text), Participants: e.participants(),
		LastPostAt: e.topic.LastPostAt, RelatedProposals: e.related,
	}
}

func (e *topicEvaluation) participants() *governance.Decimal {
	count := e.topic.Participants
	if count == nil && e.topic.Posts == 1 {
		count = &e.topic.Posts
	}
	if count == nil {
		return nil
	}
	return new(governance.CountOf(*count))
}

// state returns what the warehouse stores; the versions of record and rules show later whether to publish again.
func (e *topicEvaluation) state(revision uint64) counts.TopicState {
	proposals := warehouse.Values(e.related, func(related governance.RelatedProposal) string { return string(related.ProposalKey) })
	return counts.TopicState{
		TopicRef: e.topic.Ref(), Row: e.row(), Related: e.relevant, Visible: e.topic.Visible,
		Replies: e.replies(), Posts: e.topic.Posts, Likes: e.topic.Likes, Views: e.topic.Views,
		Name: e.name, Links: e.post.Links, Proposals: proposals,
		TopicVersion: e.topic.Version, RulesVersion: TopicRulesVersion, Revision: revision,
	}
}
