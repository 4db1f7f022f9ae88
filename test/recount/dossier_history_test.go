package recount_test

import (
	"cmp"
	"encoding/hex"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ended returns the keys of a DAO's polls that ended after a time, if any, and not after another, in order.
func (d *dossiers) ended(dao string, after, until *time.Time) []string {
	of := d.byDAO[dao]
	return slices.SortedFunc(func(yield func(string) bool) {
		for key, p := range of {
			if p.end != nil && p.lifecycle(d.now) == "closed" && (after == nil || p.end.After(*after)) && (until == nil || !p.end.After(*until)) && !yield(key) {
				return
			}
		}
	}, func(a, b string) int { return cmp.Or(of[a].end.Compare(*of[b].end), cmp.Compare(a, b)) })
}

// until is where the windows of a dossier end; nil for now.
func (d *dossiers) until(p *poll) *time.Time {
	if p.end != nil && p.end.Before(d.now) {
		return p.end
	}
	return nil
}

// compared returns the DAO's last 50 ended polls before the end of a poll, without it.
func (d *dossiers) compared(key string) []string {
	p := d.want.polls[key]
	keys := slices.DeleteFunc(d.ended(p.daoID, nil, d.until(p)), func(other string) bool { return other == key })
	return keys[max(0, len(keys)-50):]
}

// participation recounts the turnout beside other votes of the DAO.
func (d *dossiers) participation(key string) object {
	p := d.want.polls[key]
	want := object{
		"voters": nil, "votingPower": nil, "supplyPercent": nil, "delegated": nil, "medianVoters": nil, "rank": nil, "newVoters": nil,
	}
	power, own := d.all(key)
	if power != nil {
		want["votingPower"] = ratioText(power)
	}
	var voters []*big.Rat
	rank := 1
	for _, other := range d.compared(key) {
		_, votes := d.all(other)
		if votes == nil || d.isLowerBound(other) {
			continue
		}
		voters = append(voters, big.NewRat(int64(*votes), 1))
		if own != nil && *votes > *own {
			rank++
		}
	}
	want["compared"], want["medianVoters"] = len(voters), medianOf(voters)
	if own != nil {
		want["voters"] = countText(*own)
	}
	if own != nil && !d.isLowerBound(key) {
		want["rank"] = rank
	}
	if p.everyBallot() && p.start != nil {
		before := map[string]bool{}
		for _, other := range d.ended(p.daoID, nil, new(p.start.Add(-time.Millisecond))) {
			if d.want.polls[other].lacksBallots() {
				return want
			}
			for _, c := range d.want.polls[other].casts {
				before[c.voter] = true
			}
		}
		fresh := slices.DeleteFunc(slices.Clone(p.ballots), func(b cast) bool { return before[b.voter] })
		want["newVoters"] = countText(len(fresh))
	}
	return want
}

// strongest recounts the DAO's strongest voters of the year.
func (d *dossiers) strongest(key string) []object {
	p := d.want.polls[key]
	end := cmp.Or(d.until(p), &d.now)
	sums := map[string]power{}
	for _, other := range d.ended(p.daoID, new(end.AddDate(0, 0, -365)), end) {
		for _, b := range d.want.polls[other].ballots {
			sums[b.voter] = new(big.Int).Add(cmp.Or(sums[b.voter], new(big.Int)), b.power)
		}
	}
	maps.DeleteFunc(sums, func(_ string, sum power) bool { return sum.Sign() == 0 })
	voters := slices.SortedFunc(maps.Keys(sums), func(a, b string) int { return cmp.Or(sums[b].Cmp(sums[a]), cmp.Compare(a, b)) })
	rows := []object{}
	for _, voter := range voters[:min(10, len(voters))] {
		row := object{"voterIdentity": voter, "yearPower": decimalText(sums[voter], places), "ballot": nil}
		if b := p.ballotOf(voter); b != nil {
			row["ballot"] = d.dossierBallot(key, *b)
		}
		rows = append(rows, row)
	}
	return rows
}

// ballotOf returns the ballot of a voter that counts; nil for none.
func (p *poll) ballotOf(voter string) *cast {
	for _, b := range p.ballots {
		if b.voter == voter {
			return &b
		}
	}
	return nil
}

func (d *dossiers) largest(key string) []object {
	rows := []object{}
	for _, b := range d.want.polls[key].strongestFirst() {
		if len(rows) < 10 {
			rows = append(rows, d.dossierBallot(key, b))
		}
	}
	return rows
}

// proposer recounts what is known of the author.
func (d *dossiers) proposer(key string) any {
	p := d.want.polls[key]
	id := identity(text(p.proposer))
	if id == "" {
		return nil
	}
	own := cmp.Or(p.created, p.start)
	here, elsewhere, open, first := map[string]int{}, map[string]int{}, 0, own
	for other, q := range d.want.polls {
		if q == p || q.spam || identity(text(q.proposer)) != id {
			continue
		}
		if q.daoID == p.daoID && q.start != nil && q.end != nil && p.start != nil && p.end != nil && q.start.Before(*p.end) && p.start.Before(*q.end) {
			open++
		}
		at := cmp.Or(q.created, q.start)
		if at == nil || own == nil || !at.Before(*own) {
			continue
		}
		if at.Before(*first) {
			first = at
		}
		outcome := d.outcomeBy(other, d.until(p))
		if q.daoID == p.daoID {
			here[outcome]++
		} else {
			elsewhere[outcome]++
		}
	}
	want := object{"proposerId": id, "here": here, "elsewhere": elsewhere, "firstSeenAt": stamp(first), "ownBallot": nil, "openHere": open, "votesCast": nil}
	if own != nil && !slices.ContainsFunc(d.ended(p.daoID, nil, new(own.Add(-time.Millisecond))), func(other string) bool { return d.want.polls[other].lacksBallots() }) {
		want["votesCast"] = d.knownOf(p, id)["ballots"]
	}
	if b := p.ballotOf(id); b != nil {
		want["ownBallot"] = d.dossierBallot(key, *b)
	}
	return want
}

// outcomeBy recounts the outcome of a poll as of a time, if there is one.
func (d *dossiers) outcomeBy(key string, until *time.Time) string {
	q := d.want.polls[key]
	outcome := q.outcome(d.now, d.want.results[key])
	if until == nil {
		return outcome
	}
	isOver := q.end == nil || !q.end.After(*until)
	for _, event := range d.onChain[q.externalID].Events {
		switch at := event.Block.Timestamp; {
		case at == nil || event.Type != outcome:
		case !at.After(*until):
			return outcome
		case isOver && outcome == "executed":
			return "passed"
		default:
			return "unknown"
		}
	}
	if !isOver && outcome != "canceled" {
		return "unknown"
	}
	return outcome
}

// topicsUntil leaves out the topics that were opened after a time, if there is one.
func topicsUntil(topics []*forumTopic, until *time.Time) []*forumTopic {
	return slices.DeleteFunc(slices.Clone(topics), func(t *forumTopic) bool { return until != nil && t.CreatedAt != nil && t.CreatedAt.After(*until) })
}

// opened returns when the first linked topic of a poll was opened, until a time if there is one; nil for none.
func (d *dossiers) opened(key string, until *time.Time) (at *time.Time) {
	for _, topic := range topicsUntil(d.topics[key], until) {
		if topic.CreatedAt != nil && (at == nil || topic.CreatedAt.Before(*at)) {
			at = topic.CreatedAt
		}
	}
	return at
}

// discussed returns the whole days between the first topic of a poll and its start.
func (d *dossiers) discussed(key string, until *time.Time) (days int64, known bool) {
	opened, start := d.opened(key, until), d.want.polls[key].start
	if opened == nil || start == nil {
		return 0, false
	}
	return int64(start.Sub(*opened) / (24 * time.Hour)), true
}

// hours returns the voting time of a poll with four places; nil where it is not known.
func (p *poll) hours() *big.Rat {
	if p.start == nil || p.end == nil || !p.end.After(*p.start) {
		return nil
	}
	return exact(halfEven(big.NewRat(int64(p.end.Sub(*p.start)), int64(time.Hour))))
}

// process recounts how a poll came about; of similar polls, those with the same calls.
func (d *dossiers) process(key string) object {
	p := d.want.polls[key]
	topics := slices.SortedFunc(slices.Values(topicsUntil(d.topics[key], d.until(p))), func(a, b *forumTopic) int {
		return cmp.Or(cmp.Compare(a.host, b.host), cmp.Compare(strconv.Itoa(a.ID), strconv.Itoa(b.ID)))
	})
	rows := []object{}
	for _, topic := range slices.Compact(topics) {
		row := object{
			"host": topic.host, "externalId": strconv.Itoa(topic.ID), "title": strings.TrimSpace(topic.Title), "createdAt": stamp(topic.CreatedAt),
			"replies": strconv.Itoa(topic.replies()), "participants": nil, "byProposer": false,
		}
		if topic.ParticipantsCount != nil {
			row["participants"] = countText(*topic.ParticipantsCount)
		}
		rows = append(rows, row)
	}
	want := object{
		"topics": rows, "discussionDays": nil, "votingHours": nil, "updatedAfterStart": nil, "extended": false, "queuedAt": nil, "executedAt": nil,
	}
	if days, known := d.discussed(key, d.until(p)); known {
		want["discussionDays"] = strconv.FormatInt(days, 10)
	}
	if hours := p.hours(); hours != nil {
		want["votingHours"] = halfEven(hours)
	}
	if p.updated != nil && p.start != nil {
		want["updatedAfterStart"] = p.updated.After(*p.start)
	}
	for _, event := range d.onChain[p.externalID].Events {
		switch event.Type {
		case "extended":
			want["extended"] = true
		case "queued", "executed":
			want[event.Type+"At"] = stamp(event.Block.Timestamp)
		}
	}
	var days, hours []*big.Rat
	for _, other := range d.compared(key) {
		if of, known := d.discussed(other, d.until(p)); known {
			days = append(days, big.NewRat(of, 1))
		}
		if of := d.want.polls[other].hours(); of != nil {
			hours = append(hours, of)
		}
	}
	want["medianDiscussionDays"], want["medianVotingHours"], want["similar"] = medianOf(days), medianOf(hours), d.sameCalls(key)
	return want
}

// sameCalls returns the earlier polls of the DAO with the same calls, in order of their ends.
func (d *dossiers) sameCalls(key string) []string {
	p, same := d.want.polls[key], []string{}
	own, payload := cmp.Or(p.created, p.start), d.calls(p)
	if len(payload) == 0 || own == nil {
		return same
	}
	of := d.byDAO[p.daoID]
	for other, q := range of {
		if at := cmp.Or(q.created, q.start); q != p && at != nil && at.Before(*own) && slices.Equal(payload, d.calls(q)) {
			same = append(same, other)
		}
	}
	slices.SortFunc(same, func(a, b string) int {
		return cmp.Or(of[a].end.Compare(*of[b].end), cmp.Compare(a, b))
	})
	return same
}

// calls returns the calls of a poll, as its source states them.
func (d *dossiers) calls(p *poll) []executableCall {
	of := d.onChain[p.externalID]
	calls := slices.Clone(of.Calls)
	for _, safe := range of.Plugins.SafeSnap.Safes {
		for _, batch := range safe.Batches {
			for _, call := range batch {
				calls = append(calls, executableCall{Target: call.To, Value: call.Value, Calldata: call.Data, ChainID: "eip155:" + safe.Network})
			}
		}
	}
	return calls
}

// transfers recounts what leaves by payments, transfers of USDC and batches; known is false for other calls.
func (d *dossiers) transfers(p *poll) (sums []object, known bool) {
	sums, amounts, known := []object{}, map[string]*big.Int{}, true
	add := func(chain, to string, amount *big.Int, decimals int, token any, symbol string) {
		name := chain + symbol + to
		if amounts[name] == nil {
			amounts[name] = new(big.Int)
			sums = append(sums, object{"chain": chain, "token": token, "symbol": symbol, "decimals": decimals, "from": nil, "to": to})
		}
		amount.Add(amount, amounts[name])
		amounts[name] = amount
		at := slices.IndexFunc(sums, func(s object) bool { return s["chain"] == chain && s["symbol"] == symbol && s["to"] == to })
		sums[at]["amount"] = decimalText(amount, decimals)
	}
	number := func(word []byte) *big.Int { return new(big.Int).SetBytes(word) }
	var visit func(chain, target string, value *big.Int, data []byte)
	visit = func(chain, target string, value *big.Int, data []byte) {
		if value.Sign() > 0 {
			add(chain, target, value, 18, nil, "native")
		}
		if len(data) < 4 {
			return
		}
		words := data[4:]
		switch hex.EncodeToString(data[:4]) {
		case "a9059cbb": // transfer(address,uint256)
			known = known && target == "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"
			add(chain, "0x"+hex.EncodeToString(words[12:32]), number(words[32:64]), 6, target, "USDC")
		case "8d80ff0a": // multiSend(bytes)
			for packed := words[64 : 64+number(words[32:64]).Int64()]; len(packed) > 0; {
				end := 85 + number(packed[53:85]).Int64()
				visit(chain, "0x"+hex.EncodeToString(packed[1:21]), number(packed[21:53]), packed[85:end])
				packed = packed[end:]
			}
		case "cc1b4bf6", "3df02124", "3dbb202b": // a stream, a swap, a bridge
			known = false
		}
	}
	for _, call := range d.calls(p) {
		data, err := hex.DecodeString(strings.TrimPrefix(call.Calldata, "0x"))
		value, is := new(big.Int).SetString(call.Value, 10)
		if known = known && is && err == nil; known {
			visit(call.ChainID, strings.ToLower(call.Target), value, data)
		}
	}
	return sums, known
}

// knownOf recounts what the DAO of a poll knew of an address before the poll was created.
func (d *dossiers) knownOf(p *poll, address string) object {
	proposed, voted, created := 0, 0, cmp.Or(p.created, p.start)
	for _, q := range d.byDAO[p.daoID] {
		at := cmp.Or(q.created, q.start)
		if created != nil && at != nil && at.Before(*created) && identity(text(q.proposer)) == address {
			proposed++
		}
		if created != nil && q.end != nil && q.end.Before(*created) && q.ballotOf(address) != nil {
			voted++
		}
	}
	return object{"address": address, "proposals": countText(proposed), "ballots": countText(voted)}
}
