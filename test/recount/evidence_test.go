package recount_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pnyx/test/env"
)

// evidence is the service's answer about the sources of a proposal's data.
type evidence struct {
	Proposal struct {
		ProposalKey string  `json:"proposalKey"`
		Title       *string `json:"title"`
		SourceURL   *string `json:"sourceUrl"`
	} `json:"proposal"`
	Provenance []struct {
		Field      string `json:"field"`
		Source     string `json:"source"`
		Provider   string `json:"provider"`
		ObservedAt string `json:"observedAt"`
	} `json:"provenance"`
	Intelligence object   `json:"intelligence"`
	QualityFlags []string `json:"qualityFlags"`
	Warnings     []struct {
		Code    string            `json:"code"`
		Details map[string]string `json:"details"`
	} `json:"warnings"`
}

// checkEvidence requests and compares the evidence of every proposal.
func (r *recount) checkEvidence(t *testing.T, began time.Time) {
	t.Helper()
	var paths []string
	keys := map[string]string{}
	for key := range r.want.polls {
		path := "/v2/proposals/" + key + "/evidence"
		paths = append(paths, path)
		keys[path] = key
	}
	until := time.Now()
	codes, flags := map[string]int{}, map[string]int{}
	wrong := r.compare(paths, func(path string, got answer) string {
		var said evidence
		if err := json.Unmarshal(got.data, &said); err != nil {
			return err.Error()
		}
		r.mu.Lock()
		for _, warning := range said.Warnings {
			codes[warning.Code]++
		}
		for _, flag := range said.QualityFlags {
			flags[flag]++
		}
		r.mu.Unlock()
		if err := got.meta.Check(true); err != nil {
			return err.Error()
		}
		return r.evidenceDiffers(keys[path], said, began, until)
	})
	t.Logf("%d of %d proposals have the evidence they should; flags %v, warnings %v",
		len(paths)-len(wrong), len(paths), flags, codes)
	reportWrong(t, wrong)
}

func (r *recount) evidenceDiffers(key string, said evidence, began, until time.Time) string {
	p := r.want.polls[key]
	want := object{
		"proposal": object{"proposalKey": key, "title": p.title, "sourceUrl": p.link},
		"flags":    p.flags(), "fields": p.fields(r.want.answers["/v2/proposals/"+key]), "votes": p.votesConflict(),
	}
	got := object{
		"proposal": said.Proposal,
	}
	if status := said.Intelligence["status"]; status != "available" && status != "pending" {
		return fmt.Sprintf("intelligence is %v, want a dossier, or one that is being computed", status)
	}
	recounted := p.flagged()
	got["flags"] = slices.DeleteFunc(append([]string{}, said.QualityFlags...), func(flag string) bool {
		_, known := recounted[flag]
		return !known
	})
	fields := []string{}
	for _, field := range said.Provenance {
		at, err := time.Parse(env.TimeLayout, field.ObservedAt)
		if err != nil || at.Before(began.Truncate(time.Millisecond)) || at.After(until) || field.Provider != p.provider || field.Source == "" {
			return fmt.Sprintf("provenance %+v, want it to be of %s, and observed in the import that began at %s", field, p.provider, began)
		}
		fields = append(fields, field.Field)
	}
	got["fields"], got["votes"] = fields, []map[string]string{}
	for _, warning := range said.Warnings {
		if warning.Code == "votes_differ" {
			got["votes"] = []map[string]string{warning.Details}
		}
	}
	return cmp.Diff(env.Plain(want), env.Plain(got))
}

// flagged reports for each flag that the recount knows whether it is expected.
func (p *poll) flagged() map[string]bool {
	due := map[string]bool{
		"title_missing": p.title == nil || p.derived, "title_derived": p.derived, "flagged": p.spam, "body_missing": p.body == nil, "times_missing": p.start == nil && p.end == nil,
		"ballots_missing": p.isCovered("unavailable"), "ballots_partial": p.isCovered("partial"), "recasts_present": false,
		"ballots_undated": false, "power_rounded": false, "ballots_invalid": false,
		// Upstream's counts and figures agree with the ballots.
		"totals_differ_upstream": false,
	}
	casts := map[string]string{}
	for _, c := range p.casts {
		if id, again := casts[c.voter]; again && id != c.id {
			due["recasts_present"] = true
		}
		casts[c.voter] = c.id
	}
	for _, b := range p.ballots {
		due["ballots_undated"] = due["ballots_undated"] || b.at == nil
		due["ballots_invalid"] = due["ballots_invalid"] || p.invalid(b)
		due["power_rounded"] = due["power_rounded"] || b.rounded
	}
	return due
}

func (p *poll) flags() []string {
	flags := p.flagged()
	maps.DeleteFunc(flags, func(_ string, due bool) bool { return !due })
	return append([]string{}, slices.Sorted(maps.Keys(flags))...)
}

// fields returns the fields of the detail that are not empty, and the ballots.
func (p *poll) fields(detail object) []string {
	fields := []string{}
	for _, field := range []string{
		"title", "bodyText", "proposerId", "sourceUrl", "discussionUrl", "lifecycleStatus", "outcome", "choices",
		"quorumRaw", "startAt", "endAt",
	} {
		if there := env.Plain(detail[field]); there != nil && there != "unknown" && fmt.Sprint(there) != "[]" {
			fields = append(fields, field)
		}
	}
	if len(p.ballots) > 0 {
		fields = append(fields, "ballots")
	}
	return fields
}

// votesConflict returns upstream's figures and the ballots' where they differ.
func (p *poll) votesConflict() []map[string]string {
	result, err := p.result()
	if err != nil || p.basis(time.Now(), result) == "" || p.stated == nil || *p.stated == len(p.ballots) {
		return []map[string]string{}
	}
	return []map[string]string{{"upstream": strconv.Itoa(*p.stated), "held": strconv.Itoa(len(p.ballots))}}
}
