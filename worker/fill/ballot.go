package fill

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/panics"
	"pnyx/warehouse/pages"
	"pnyx/warehouse/record"
)

func (p *page) ballots(ctx context.Context, q query.Ballots) (any, error) {
	var detail governance.ProposalRow
	var rows []pages.LatestBallot
	err := p.fromSortedCopy(ctx, q.Scope(), func(generation uint64) (err error) {
		describe := func() (err error) {
			if detail, err = p.proposalDetail(ctx, q.Proposal); err == nil {
				_, err = p.setBallotCoverage(ctx, q.Proposal)
			}
			return err
		}
		if generation != 0 {
			reading, _ := panics.WithContext(ctx) // a copy is read without knowing the proposal
			reading.Go(describe)
			rows, err = pages.ListBallots(ctx, p.Warehouse, pages.BallotSource{Generation: generation}, q)
			return errors.Join(err, reading.Wait())
		}
		if err = describe(); err != nil {
			return err
		}
		ref := record.ProposalRef{Provider: detail.Identity.Provider, ExternalID: detail.Identity.ExternalID}
		rows, err = pages.ListBallots(ctx, p.Warehouse, pages.BallotSource{Ref: ref.Hash()}, q)
		return err
	})
	if err != nil {
		return nil, err
	}
	ballots := ballotRows(rows, choicesOf(detail.Choices, detail.Bounds))
	return nameRows(ctx, p, ballots, nil, func(b *governance.Ballot) []shown { return []shown{{b.VoterIdentity, &b.VoterName}} })
}

// setBallotCoverage states in the head how many ballots are held, as the vote summary does, which it returns;
// nothing without one. Where upstream has some, and none is held, they are not available.
func (p *page) setBallotCoverage(ctx context.Context, key governance.ProposalKey) (summary governance.VoteSummary, err error) {
	summary, err = readView[governance.VoteSummary](ctx, p, cache.VoteSummaryKey(key))
	if err != nil && !errors.Is(err, cache.ErrMiss) {
		return governance.VoteSummary{}, err
	}
	p.head.VoteCoverage = summary.CoverageStatus.OfBallots()
	if summary.CoverageStatus == governance.CoverageUnavailable {
		p.head.Readiness = governance.ReadinessUnavailable
	}
	return summary, nil
}

func (p *page) proposalDetail(ctx context.Context, key governance.ProposalKey) (governance.ProposalRow, error) {
	return readView[governance.ProposalRow](ctx, p, cache.ProposalDetailKey(key))
}

type voteChoices struct {
	labels map[string]string
	bounds governance.ChoiceBounds
}

func choicesOf(choices []governance.Choice, bounds governance.ChoiceBounds) voteChoices {
	labels := make(map[string]string, len(choices))
	for _, choice := range choices {
		labels[choice.Key] = choice.Label
	}
	return voteChoices{labels, bounds}
}

func ballotRows(rows []pages.LatestBallot, choices voteChoices) []governance.Ballot {
	page := make([]governance.Ballot, len(rows))
	type choice struct {
		label   string
		invalid bool
	}
	written := map[string]choice{} // most ballots repeat one of few choices
	for i, row := range rows {
		one, known := written[row.RawChoice]
		if !known {
			one.label, one.invalid = describeBallot(row.RawChoice, choices)
			written[row.RawChoice] = one
		}
		if row.Choice.Label, row.Invalid = one.label, one.invalid; one.invalid {
			row.ChoiceKey = nil
		}
		page[i] = row.Ballot
	}
	return page
}

const noChoice = "None"

// maxBallotLabel bounds the text of a ballot, which may name all choices: a page has hundreds of them.
const maxBallotLabel = 16 << 10

// describeBallot returns the text of a whole ballot, cut above maxBallotLabel, and whether it is invalid: it names
// other choices than upstream states, one twice, or not as many as it has to. Then the text is the choice as
// published.
func describeBallot(raw string, choices voteChoices) (label string, invalid bool) {
	labels := choices.labels
	var keys []string
	var number json.Number
	var list []json.RawMessage
	var weights map[string]json.RawMessage
	switch {
	case len(labels) == 0 || strings.HasPrefix(raw, `"`):
	case json.Unmarshal([]byte(raw), &number) == nil:
		keys = []string{number.String()}
	case json.Unmarshal([]byte(raw), &list) == nil:
		for _, key := range list {
			keys = append(keys, string(key))
		}
		invalid = len(slices.Compact(slices.Sorted(slices.Values(keys)))) < len(keys)
	case json.Unmarshal([]byte(raw), &weights) == nil:
		for key, weight := range weights { // a weight of zero names nothing
			share, err := governance.ParseNumber(strings.Trim(string(weight), `"`))
			if invalid = invalid || err != nil || share.IsNegative(); !share.IsZero() {
				keys = append(keys, key)
			}
		}
		invalid = invalid || len(keys) == 0
	}
	invalid = invalid || (len(keys) > 0 || list != nil) && !choices.bounds.Allow(len(keys), governance.FormOf(raw))
	for _, key := range keys {
		if _, stated := labels[key]; !stated {
			invalid = true
		}
	}
	label = raw
	if !invalid {
		label = ballotLabel(raw, labels)
	}
	return governance.Shorten(label, maxBallotLabel), invalid
}

// ballotLabel returns the choice of a ballot, all that it approves or ranks, or its shares in percent.
func ballotLabel(raw string, labels map[string]string) string {
	decoder := json.NewDecoder(bytes.NewReader([]byte(raw)))
	decoder.UseNumber()
	var choice any
	if err := decoder.Decode(&choice); err != nil {
		return noChoice
	}
	switch choice := choice.(type) {
	case json.Number:
		return labelOf(choice.String(), labels)
	case string:
		return labelOf(choice, labels)
	case []any:
		return listLabel(choice, labels)
	case map[string]any:
		return weightsLabel(choice, labels)
	}
	return noChoice
}

func labelOf(key string, labels map[string]string) string {
	if label, stated := labels[key]; stated {
		return label
	}
	return "Choice " + key
}

func listLabel(choices []any, labels map[string]string) string {
	var names []string
	listed := map[string]bool{} // a choice may have a million bytes
	for _, choice := range choices {
		name := labelOf(fmt.Sprint(choice), labels)
		if !listed[name] {
			names, listed[name] = append(names, name), true
		}
	}
	if len(names) == 0 {
		return noChoice
	}
	return strings.Join(names, ", ")
}

func weightsLabel(weights map[string]any, labels map[string]string) string {
	var keys []string
	parsed := map[string]decimal.Decimal{}
	whole := decimal.Zero
	for key, value := range weights {
		weight, err := governance.ParseNumber(fmt.Sprint(value))
		if err != nil || !weight.IsPositive() {
			continue
		}
		keys = append(keys, key)
		parsed[key] = weight
		whole = whole.Add(weight)
	}
	if len(keys) == 0 {
		return noChoice
	}
	slices.SortFunc(keys, governance.CompareChoiceKeys)
	parts := make([]string, len(keys))
	for i, key := range keys {
		percent := parsed[key].Mul(decimal.NewFromInt(100)).DivRound(whole, 1)
		parts[i] = percent.String() + "% for " + labelOf(key, labels)
	}
	return strings.Join(parts, ", ")
}
