package record_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"pnyx/governance"
	"pnyx/warehouse/record"
)

func TestAttackTextsAreBounded(t *testing.T) {
	t.Parallel()
	long, many := strings.Repeat("a", 3<<20), uint64(math.MaxUint64)
	ref := record.ProposalRef{Provider: governance.Snapshot, ExternalID: "1"}
	for name, c := range map[string]struct {
		record  record.Record
		refused bool
	}{
		"title":       {record: &record.Proposal{ProposalRef: ref, Title: long}},
		"body":        {record: &record.Proposal{ProposalRef: ref, Body: long}},
		"address":     {record: &record.Proposal{ProposalRef: ref, SourceURL: long}},
		"label":       {record: &record.Proposal{ProposalRef: ref, Choices: []string{"Yes", long}}},
		"events":      {record: &record.Proposal{ProposalRef: ref, Milestones: make([]record.Milestone, 5000)}},
		"reason":      {record: &record.Ballot{Proposal: ref, Reason: long}},
		"name":        {record: &record.Source{Name: long}},
		"post":        {record: &record.Topic{BodyHTML: long}},
		"tag":         {record: &record.Topic{Tags: []string{long}}},
		"id":          {record: &record.Proposal{ProposalRef: record.ProposalRef{ExternalID: long}}, refused: true},
		"state":       {record: &record.Proposal{ProposalRef: ref, State: long}, refused: true},
		"choices":     {record: &record.Proposal{ProposalRef: ref, Choices: make([]string, 70_000)}, refused: true},
		"labels":      {record: &record.Proposal{ProposalRef: ref, Choices: strings.Split(strings.Repeat("0123456789,", 200_000), ",")}, refused: true},
		"votes":       {record: &record.Proposal{ProposalRef: ref, StatedVotes: &many}, refused: true},
		"choice":      {record: &record.Ballot{Proposal: ref, RawChoice: long}, refused: true},
		"transaction": {record: &record.Ballot{Proposal: ref, TxHash: long}, refused: true},
		"views":       {record: &record.Topic{Views: many}, refused: true},
		"slug":        {record: &record.Category{Slug: long}, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			left, err := record.Bound(c.record)
			if errors.Is(err, record.ErrTooLarge) != c.refused || !c.refused && len(left) != 1 {
				t.Errorf("got %v left out and error %v, want refused %t", left, err, c.refused)
			}
			if again, err := record.Bound(c.record); !c.refused && (err != nil || len(again) > 0) {
				t.Errorf("got %v, %v of what was bounded before", again, err)
			}
		})
	}
}
