package record

import (
	"errors"
	"fmt"
	"strings"

	"pnyx/governance"
)

// The bounds of what people and upstream systems write, in bytes. Texts in use are far below them.
const (
	maxBody    = 1 << 20
	maxTitle   = 64 << 10
	maxReason  = 64 << 10
	maxLabel   = 16 << 10
	maxAddress = 8 << 10 // of a page
	maxWord    = 1 << 10 // a state, a type, a hash, an id, a name
	// maxLabels bounds the choices of a proposal and the tags of a topic together, and
	// maxItems their number and the number of whatever else is listed. A ballot names a choice by 16
	// bits.
	maxLabels = 1 << 20
	maxItems  = 1<<16 - 1
	// maxMilestones bounds the events of a proposal.
	maxMilestones = 1000
	// maxNumber is the greatest whole number that every JSON reader takes exactly.
	maxNumber = 1<<53 - 1
)

// ErrTooLarge reports a record with a value that is beyond what any source states.
var ErrTooLarge = errors.New("is too large")

// Bound leaves texts that are too long out of a record, each with a note in its place, and returns what it left
// out: a vote or a proposal counts whatever its text. A record with another value beyond its bound is refused.
func Bound(r Record) (left []string, err error) {
	b := bounds{}
	switch r := r.(type) {
	case *DAO:
		b.text("name", &r.Name, maxWord)
		b.words("DAO", r.Tokens...)
		b.count("tokens", len(r.Tokens), maxItems)
		b.count("contracts", len(r.Contracts), maxItems)
		for i := range r.Contracts {
			b.text("contract", &r.Contracts[i].Name, maxWord)
			b.words("contract", r.Contracts[i].Functions...)
			b.count("functions", len(r.Contracts[i].Functions), maxItems)
		}
	case *Source:
		b.text("name", &r.Name, maxWord)
		b.words("source", r.ID, r.Slug, r.Network, r.Symbol, r.Token)
	case *Category:
		b.text("name", &r.Name, maxWord)
		b.words("category", r.Host, r.ID, r.Slug)
	case *Proposal:
		b.proposal(r)
	case *Ballot:
		b.ballot(r)
	case *Topic:
		b.topic(r)
	case *Delegation:
		b.words("delegation", append([]string{r.Scope, r.Delegator}, r.Delegates...)...)
		b.count("delegates", len(r.Delegates), MaxDelegates)
	case *DelegatePower:
		b.words("power of a delegate", r.Scope, r.Delegate)
	case *TokenSupply:
		b.words("supply", r.Scope)
	case *Name:
		b.words("name", r.Voter, r.Origin)
		if length := len(r.Name); length > governance.MaxName {
			b.left = append(b.left, fmt.Sprintf("name of %d bytes left out: at most %d are kept", length, governance.MaxName))
			r.Name, r.Verified = "", false
		}
	}
	return b.left, b.refused
}

func (b *bounds) proposal(p *Proposal) {
	b.text("title", &p.Title, maxTitle)
	b.text("body", &p.Body, maxBody)
	b.labels("choice", p.Choices)
	b.words("proposal", p.ExternalID, p.SourceID, p.ProposerID, string(p.VoteType), p.State, p.QuorumRaw, p.UpstreamID, p.UpstreamType,
		p.UpstreamStatus, p.Origin, p.OnchainID)
	for _, address := range []*string{&p.SourceURL, &p.DiscussionURL, &p.SnapshotURL} {
		b.address(address)
	}
	b.count("choices", len(p.Choices), maxItems)
	b.count("scores", len(p.StatedScores), maxItems)
	b.number("votes", p.StatedVotes)
	if most := len(p.Milestones); most > maxMilestones {
		b.left = append(b.left, fmt.Sprintf("%d events: %d are kept", most, maxMilestones))
		p.Milestones = p.Milestones[:maxMilestones]
	}
	for _, m := range p.Milestones {
		b.words("event", m.Type, m.TxHash)
	}
}

func (b *bounds) ballot(v *Ballot) {
	b.text("reason", &v.Reason, maxReason)
	b.words("vote", v.Proposal.ExternalID, v.VoteID, v.Voter, v.ChoiceKey, v.TxHash)
	b.count("choices", len(v.Choices), maxItems)
	b.count("bytes of its choice", len(v.RawChoice), maxLabels)
}

func (b *bounds) topic(t *Topic) {
	b.text("title", &t.Title, maxTitle)
	b.text("body", &t.BodyHTML, maxBody)
	b.labels("tag", t.Tags)
	b.words("topic", t.Host, t.ExternalID, t.Slug, t.CategoryID, t.Author)
	b.count("tags", len(t.Tags), maxItems)
	for name, number := range map[string]*uint64{"posts": &t.Posts, "likes": &t.Likes, "views": &t.Views, "participants": t.Participants} {
		b.number(name, number)
	}
}

type bounds struct {
	left    []string
	refused error
}

// leftOut is in the note on a text that is left out.
const leftOut = "bytes left out: at most"

// HasLeftOut reports whether a text, or a part of it, was left out.
func HasLeftOut(text string) bool { return strings.Contains(text, leftOut) }

func (b *bounds) text(name string, text *string, most int) {
	if len(*text) <= most {
		return
	}
	note := fmt.Sprintf("%s of %d %s %d are kept", name, len(*text), leftOut, most)
	b.left = append(b.left, note)
	*text = "[" + note + "]"
}

// labels leaves out labels that are too long, and all of them where they are together.
func (b *bounds) labels(name string, labels []string) {
	sum := 0
	for i := range labels {
		b.text(name, &labels[i], maxLabel)
		if sum += len(labels[i]); sum > maxLabels {
			b.refuse("%ss have more than %d bytes", name, maxLabels)
			return
		}
	}
}

// address leaves out the address of a page that no browser takes.
func (b *bounds) address(address *string) {
	if len(*address) > maxAddress {
		b.left = append(b.left, fmt.Sprintf("address of %d bytes left out: at most %d are kept", len(*address), maxAddress))
		*address = ""
	}
}

func (b *bounds) words(of string, words ...string) {
	for _, word := range words {
		if len(word) > maxWord {
			b.refuse("%s has a value of %d bytes, of which at most %d are allowed", of, len(word), maxWord)
			return
		}
	}
}

func (b *bounds) count(what string, count, most int) {
	if count > most {
		b.refuse("has %d %s, of which at most %d are allowed", count, what, most)
	}
}

func (b *bounds) number(name string, number *uint64) {
	if number != nil && *number > maxNumber {
		b.refuse("states %d %s: want at most %d", *number, name, uint64(maxNumber))
	}
}

func (b *bounds) refuse(format string, args ...any) {
	if b.refused == nil {
		b.refused = fmt.Errorf("%w: "+format, append([]any{ErrTooLarge}, args...)...)
	}
}
