package hub

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pnyx/governance/abi"
	"pnyx/test/check"
)

const (
	// maxVoteAge and maxVoteLead bound the signer's clock of a vote.
	maxVoteAge, maxVoteLead = 6 * 24 * time.Hour, 5 * time.Minute
	// rescoringPause is between two statements of the scores of a large poll.
	rescoringPause = 300
)

// Space is a space.
type Space struct {
	// Network is a chain id, Symbol the token's.
	ID, Name, Network, Symbol string
}

type space struct {
	Space

	deleted, flagged bool
}

// Proposal is a proposal to publish.
type Proposal struct {
	Space, Title, Body string
	// Type is the voting system; empty for single-choice.
	Type string
	// Privacy is "shutter" for votes that are encrypted until they are revealed.
	Privacy string
	Choices []string
	// Plugins is the object of plugins as JSON; empty for none.
	Plugins string
	// Created is the signer's time, zero for now; Start and End bound the voting.
	Created, Start, End time.Time
}

type proposal struct {
	Proposal

	id, author             string
	created, start, end    int64
	updated                int64
	flagged, final, hidden bool
	revealed               bool
	votes                  map[string]*vote // by voter, in lower case
	dirty                  bool
	scores                 []float64
	total                  float64
	stated                 int
	scoresUpdated          int64
}

// Vote is a vote to cast.
type Vote struct {
	Proposal, Voter string
	// Choice is JSON: a number, a list, weights. Power has up to 30 decimals.
	Choice, Power string
	// Created is the signer's time; zero for now.
	Created time.Time
	Reason  string
}

type vote struct {
	Vote

	id      string
	created int64
	broken  bool
}

type message struct {
	mci                      int64
	id, kind, space, address string
	timestamp                int64
	visibleAt                time.Time
}

// errRefused is what the sequencer answers to an action that it does not accept.
var errRefused = errors.New("refused")

// ErrVotedLater refuses a vote of an earlier second than the voter's last one, or of the same with a lower id.
var ErrVotedLater = fmt.Errorf("%w: already voted at a later time", errRefused)

// AddSpace adds or renames a space and logs its settings.
func (h *Hub) AddSpace(s Space) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.spaces[s.ID] = &space{Space: s}
	h.write("settings", h.newID("settings"), s.ID, Voter("admin"))
}

// BrokenName is a name in a profile that cannot be answered.
const BrokenName = "{}"

// SetName sets the name in the profile of a voter.
func (h *Hub) SetName(voter, name string) { h.mu.Do(func() { h.names[voter] = name }) }

// Propose publishes a proposal and returns its id.
func (h *Hub) Propose(p Proposal) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p.Created.IsZero() {
		p.Created = h.clock.Now()
	}
	made := &proposal{
		Proposal: p, id: h.newID("proposal"), author: Voter("author" + p.Title), votes: map[string]*vote{},
		created: p.Created.Unix(), start: p.Start.Unix(), end: p.End.Unix(), scores: make([]float64, len(p.Choices)),
	}
	h.proposals[made.id] = made
	h.write("proposal", made.id, p.Space, made.author)
	return made.id
}

// Cast casts a vote or replaces the voter's. It returns the id of the vote.
func (h *Hub) Cast(v Vote) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.clock.Now()
	if v.Created.IsZero() {
		v.Created = now
	}
	p := h.proposals[v.Proposal]
	if p == nil || p.hidden || now.Unix() > p.end && v.Created.Unix() > p.end || v.Created.Unix() < p.start {
		return "", fmt.Errorf("%w: proposal %s takes no vote of that time", errRefused, v.Proposal)
	}
	if v.Created.Before(now.Add(-maxVoteAge)) || v.Created.After(now.Add(maxVoteLead)) {
		return "", fmt.Errorf("%w: the signer's clock is wrong", errRefused)
	}
	voter := strings.ToLower(v.Voter)
	v.Voter = abi.Checksummed(voter)
	cast := &vote{Vote: v, id: h.newID("vote"), created: v.Created.Unix()}
	if held := p.votes[voter]; held != nil && (held.created > cast.created || held.created == cast.created && held.id > cast.id) {
		return "", ErrVotedLater
	}
	p.votes[voter], p.dirty = cast, true
	h.write("vote", cast.id, p.Space, v.Voter)
	return cast.id, nil
}

// Burst casts a number of votes of new voters with the same signer's second.
func (h *Hub) Burst(proposal string, count int, at time.Time) error {
	for i := range count {
		_, err := h.Cast(Vote{
			Proposal: proposal, Voter: Voter(fmt.Sprint("burst", at.Unix(), i)), Choice: "1", Power: fmt.Sprintf("%d.25", i+1), Created: at,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Update changes the title of a proposal that has not begun; at is the signer's time.
func (h *Hub) Update(id, title string, at time.Time) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.proposals[id]
	if h.clock.Now().Unix() >= p.start {
		return fmt.Errorf("%w: voting has begun", errRefused)
	}
	p.Title, p.updated = title, at.Unix()
	h.write("update-proposal", h.newID("update"), p.Space, p.author)
	return nil
}

// Flag marks a proposal as spam. Its time of update stays.
func (h *Hub) Flag(id string) {
	h.change(id, func(p *proposal) {
		p.flagged = true
		h.write("flag-proposal", h.newID("flag"), p.Space, Voter("admin"))
	})
}

// FlagSpace marks a space as spam, or no longer. Nothing is logged.
func (h *Hub) FlagSpace(id string, flagged bool) { h.mu.Do(func() { h.spaces[id].flagged = flagged }) }

// Delete deletes a proposal. The message does not name it.
func (h *Hub) Delete(id string) {
	h.change(id, func(p *proposal) {
		p.hidden = true
		h.write("delete-proposal", h.newID("delete"), p.Space, p.author)
	})
}

// Restore undoes Delete, as after trouble in the hub's database. Nothing is logged.
func (h *Hub) Restore(id string) { h.mu.Do(func() { h.proposals[id].hidden = false }) }

// DeleteSpace deletes a space and all that it has.
func (h *Hub) DeleteSpace(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.spaces[id].deleted = true
	h.write("delete-space", h.newID("delete-space"), id, Voter("admin"))
}

// RemoveVote takes a vote away, as moderation of the hub does. Nothing is logged.
func (h *Hub) RemoveVote(id, voter string) {
	h.change(id, func(p *proposal) { delete(p.votes, strings.ToLower(voter)); p.dirty = true })
}

// SetPower changes the power of a vote in place: a delegation was overridden.
func (h *Hub) SetPower(id, voter, power string) {
	h.change(id, func(p *proposal) { p.votes[strings.ToLower(voter)].Power, p.dirty = power, true })
}

// Break makes a row of a vote unreadable, or readable again: its page cannot be answered.
func (h *Hub) Break(proposal, voter string, broken bool) {
	h.mu.Do(func() { h.proposals[proposal].votes[strings.ToLower(voter)].broken = broken })
}

// Reveal publishes the choices of a shutter proposal.
func (h *Hub) Reveal(proposal string) { h.mu.Do(func() { h.proposals[proposal].revealed = true }) }

// Finalize states final scores. Powers by voter change before, without a trace.
func (h *Hub) Finalize(proposal string, powers map[string]string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.proposals[proposal]
	for voter, power := range powers {
		p.votes[strings.ToLower(voter)].Power = power
	}
	p.final = true
	p.score(h.clock.Now().Unix())
}

// Log writes a message of any kind.
func (h *Hub) Log(kind, id, space string) {
	h.mu.Do(func() { h.write(kind, id, space, Voter("someone")) })
}

// SwapLast makes the last message visible after a time, although its number is lower than later ones.
func (h *Hub) SwapLast(hidden time.Duration) {
	h.mu.Do(func() { h.log[len(h.log)-1].visibleAt = h.clock.Now().Add(hidden) })
}

// MCI returns the number of the last message.
func (h *Hub) MCI() int64 { return check.Locked(&h.mu, func() int64 { return h.mci }) }

func (h *Hub) change(id string, change func(*proposal)) { h.mu.Do(func() { change(h.proposals[id]) }) }

func (h *Hub) write(kind, id, space, signer string) {
	h.mci += 1 + h.switches.Burn
	now := h.clock.Now()
	h.log = append(h.log, message{
		mci: h.mci, id: id, kind: kind, space: space, address: signer, timestamp: now.Unix(), visibleAt: now.Add(h.switches.LogDelay),
	})
}

// newID returns the next id: the same in each run.
func (h *Hub) newID(kind string) string {
	h.made++
	sum := sha256.Sum256(fmt.Append(nil, kind, h.made))
	return "0x" + hex.EncodeToString(sum[:])
}

// rows returns the visible rows of a list, without most of those that the conditions leave out.
func (h *Hub) rows(list string, where map[string]any) (rows []row) {
	ids := idsOf(where)
	wanted := func(id string) bool { return ids == nil || ids[id] }
	switch list {
	case "spaces":
		for id, s := range h.spaces {
			if !s.deleted && wanted(id) {
				rows = append(rows, h.spaceRow(s))
			}
		}
	case "users":
		for id, name := range h.names {
			rows = append(rows, row{"id": spelled(id), "name": name, "broken": name == BrokenName})
		}
	case "proposals":
		for id, p := range h.proposals {
			if h.visible(p) && wanted(id) {
				rows = append(rows, h.proposalRow(p))
			}
		}
	case "votes":
		spaces, from := where["space_in"], number(where["created_gte"], 0)
		for p := range maps.Values(h.proposals) {
			proposal := where["proposal"]
			if !h.visible(p) || proposal != nil && proposal != "" && proposal != p.id || spaces != nil && !holds(p.Space, "_in", spaces) {
				continue
			}
			var of, in row
			for v := range maps.Values(p.votes) {
				if !wanted(v.id) || float64(v.created) < from {
					continue
				}
				if of == nil {
					of, in = h.proposalRow(p), row{"id": p.Space}
				}
				rows = append(rows, p.voteRow(v, of, in))
			}
		}
	case "messages":
		now := h.clock.Now()
		after := int64(number(where["mci_gt"], 0))
		first, _ := slices.BinarySearchFunc(h.log, after+1, func(m message, mci int64) int { return cmp.Compare(m.mci, mci) })
		for _, m := range h.log[first:] {
			if !m.visibleAt.After(now) {
				rows = append(rows, row{"mci": m.mci, "id": m.id, "type": m.kind, "space": m.space, "address": m.address, "timestamp": m.timestamp})
			}
		}
	}
	return rows
}

// idsOf returns the ids that conditions name; nil for none.
func idsOf(where map[string]any) map[string]bool {
	list, is := where["id_in"].([]any)
	if id, one := where["id"].(string); one && id != "" {
		list, is = []any{id}, true
	}
	if !is {
		return nil
	}
	ids := make(map[string]bool, len(list))
	for _, id := range list {
		text, _ := id.(string) // another value is no id
		ids[text] = true
	}
	return ids
}

func (h *Hub) visible(p *proposal) bool {
	s := h.spaces[p.Space]
	return !p.hidden && s != nil && !s.deleted
}

func (h *Hub) spaceRow(s *space) row {
	proposals, votes := 0, 0
	for p := range maps.Values(h.proposals) {
		if p.Space == s.ID && h.visible(p) {
			proposals++
			votes += len(p.votes)
		}
	}
	return row{
		"id": s.ID, "name": s.Name, "network": s.Network, "symbol": s.Symbol, "flagged": s.flagged,
		"proposalsCount": proposals, "votesCount": votes,
	}
}

func (h *Hub) proposalRow(p *proposal) row {
	now := h.clock.Now().Unix()
	limit := cmp.Or(h.switches.LateRescoring, 20_000)
	if p.dirty && (len(p.votes) <= limit || now-p.scoresUpdated >= rescoringPause) {
		p.score(now)
	}
	state, scoresState := "pending", "pending"
	if now > p.start {
		state = "active"
	}
	if now > p.end {
		state = "closed"
	}
	if p.final {
		scoresState = "final"
	}
	updated := any(nil)
	if p.updated > 0 {
		updated = p.updated
	}
	return row{
		"id": p.id, "space": row{"id": p.Space}, "author": p.author, "created": p.created, "updated": updated, "start": p.start, "end": p.end,
		"type": cmp.Or(p.Type, "single-choice"), "title": p.Title, "body": p.Body, "discussion": "", "choices": p.Choices, "quorum": 0, "quorumType": "default", "state": state,
		"link": "https://snapshot.box/#/s:" + p.Space + "/proposal/" + p.id, "scores": p.scores, "scores_total": p.total,
		"scores_state": scoresState, "scores_updated": p.scoresUpdated, "votes": p.stated, "flagged": p.flagged, "privacy": p.Privacy,
		"plugins": json.RawMessage(cmp.Or(p.Plugins, "{}")),
	}
}

func (p *proposal) voteRow(v *vote, of, in row) row {
	choice := any(json.RawMessage(v.Choice))
	if p.encrypted() {
		choice = "0x" + hex.EncodeToString([]byte(v.id+v.Choice))
	}
	return row{
		"id": v.id, "voter": v.Voter, "created": v.created, "choice": choice, "vp": power(v.Power), "vp_state": of["scores_state"],
		"reason": v.Reason, "proposal": of, "space": in, "broken": v.broken,
	}
}

func (p *proposal) encrypted() bool { return p.Privacy == "shutter" && !p.revealed }

// Voter returns the address of a voter, with its checksum, made of a name.
func Voter(name string) string {
	sum := sha256.Sum256([]byte(name))
	return abi.Checksummed("0x" + hex.EncodeToString(sum[:20]))
}
