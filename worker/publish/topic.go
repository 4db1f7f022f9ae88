package publish

import (
	"slices"

	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/warehouse"
)

// topicRulesVersion names the rules by which topics are worked out: how posts are
// read, what links name, what is relevant. Raising it publishes every topic again.
const topicRulesVersion = 1

// topicAssessment is everything that is worked out for one topic.
type topicAssessment struct {
	topic    warehouse.Topic
	identity governance.Identity
	post     governance.Post
	// name is the one that links to the topic have.
	name    string
	related []governance.RelatedProposal
	score   int
	// relevant says whether the topic is about governance.
	relevant bool
}

// assessTopic works out a topic, but for what follows from its links. The HTML of
// the post is let go of.
func assessTopic(topic warehouse.Topic, forum warehouse.Forum) topicAssessment {
	a := topicAssessment{
		topic:    topic,
		identity: forum.TopicIdentity(topic.ExternalID),
		post:     governance.ReadPost(topic.BodyHTML),
		name:     governance.TopicName(topic.Host, topic.ExternalID),
	}
	a.topic.BodyHTML = ""
	return a
}

// link adds the proposals that the topic is linked to, which come in order.
func (a *topicAssessment) link(proposals []warehouse.ProposalLink) {
	a.related = []governance.RelatedProposal{}
	for _, proposal := range proposals {
		linked := slices.ContainsFunc(proposal.Names, func(name string) bool {
			_, found := slices.BinarySearch(a.post.Links, name)
			return found
		})
		if linked || proposal.Topic == a.name {
			a.related = append(a.related, governance.RelatedProposal{
				ProposalKey: proposal.Key, Title: governance.OptionalText(proposal.Title),
			})
		}
	}
	a.score, a.relevant = rules.TopicRelevance(rules.TopicFacts{
		Title: a.topic.Title, Category: a.topic.Category, Tags: a.topic.Tags, Body: a.post.Text,
		Replies: a.replies(), Proposals: len(a.related),
	})
}

// replies counts the posts after the first.
func (a *topicAssessment) replies() uint64 {
	return max(a.topic.Posts, 1) - 1
}

// row is the topic in a list.
func (a *topicAssessment) row() governance.ForumTopic {
	return governance.ForumTopic{
		TopicKey: a.identity.TopicKey(), Identity: a.identity,
		Title: a.topic.Title, Summary: governance.OptionalText(a.post.Summary), URL: a.topic.URL(),
		Author: governance.OptionalText(a.topic.Author), Category: governance.OptionalText(a.topic.Category), Tags: a.tags(),
		RelevanceScore: a.score,
		Replies:        governance.CountOf(a.replies()), Posts: governance.CountOf(a.topic.Posts),
		Likes: governance.CountOf(a.topic.Likes), Views: governance.CountOf(a.topic.Views),
		CreatedAt: a.topic.CreatedAt, UpdatedAt: a.topic.UpdatedAt,
	}
}

func (a *topicAssessment) detail() governance.ForumTopicDetail {
	row := a.row()
	return governance.ForumTopicDetail{
		TopicKey: row.TopicKey, Identity: row.Identity, Title: row.Title, Summary: row.Summary, URL: row.URL,
		Author: row.Author, Category: row.Category, Tags: row.Tags, RelevanceScore: row.RelevanceScore,
		Replies: row.Replies, Posts: row.Posts, Likes: row.Likes, Views: row.Views,
		CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
		BodyText: governance.OptionalText(a.post.Text), Participants: a.participants(), LastPostAt: a.topic.LastPostAt,
		RelatedProposals: a.related,
	}
}

// participants is what upstream says, or one where there is one post.
func (a *topicAssessment) participants() *governance.Decimal {
	count := a.topic.Participants
	if count == nil && a.topic.Posts == 1 {
		count = &a.topic.Posts
	}
	if count == nil {
		return nil
	}
	number := governance.CountOf(*count)
	return &number
}

func (a *topicAssessment) tags() []string {
	if a.topic.Tags == nil {
		return []string{}
	}
	return a.topic.Tags
}

func (a *topicAssessment) state(revision uint64) warehouse.TopicState {
	return warehouse.TopicState{
		TopicRef: a.topic.Ref(), Row: a.row(), Related: a.relevant, Visible: a.topic.Visible,
		Replies: a.replies(), Posts: a.topic.Posts, Likes: a.topic.Likes, Views: a.topic.Views,
		Name: a.name, Links: a.post.Links,
		TopicVersion: a.topic.Version, RulesVersion: topicRulesVersion, Revision: revision,
	}
}
