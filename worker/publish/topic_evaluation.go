package publish

import (
	"slices"

	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/warehouse"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/records"
)

type topicEvaluation struct {
	topic    records.Topic
	identity governance.Identity
	post     governance.Post
	// name is the one by which links refer to the topic.
	name string
	// related are the proposals that the topic is linked with, in either direction.
	related []governance.RelatedProposal
	// score and relevant are by rules.TopicRelevance.
	score    int
	relevant bool
}

// evaluateTopic computes all but what depends on links. It drops the HTML of the post, so that a batch holds only
// text.
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

// link selects the topic's proposals from those of the batch, in their order, and computes the relevance.
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

// participants returns the number that upstream states, or one if there is one post.
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
