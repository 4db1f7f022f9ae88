package routes

import (
	"context"
	"time"

	"pnyx/api/httpcache"
	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
)

func evidenceRoutes() []Route {
	return []Route{
		handle(Route{
			ID: "proposals.evidence", Path: governance.PathEvidence, Tier: governance.Plus,
			Title: "Get a proposal's evidence",
			Summary: "What one proposal's data rests on: where each field came from, a computed dossier " +
				"(decoded actions, effects, findings, who decided, what is not known), quality flags, and conflicts between sources.",
			Fresh: httpcache.Expiring("A dossier rests on other proposals of the DAO and of the proposer, whose changes do not purge it; " +
				"while it is pending, `no-store`: the next request waits for it, too."),
			Returns: governance.Evidence{}, kind: query.KindDossier,
		}, (*Backend).evidence),
	}
}

func (b *Backend) evidence(ctx context.Context, r *Request, p proposalParams) (Answer, error) {
	var evidence governance.Evidence
	view, err := b.view(ctx, cache.EvidenceKey(p.Key), &evidence, r.missing())
	if err != nil {
		return Answer{}, err
	}
	found := Answer{View: view, Source: httpcache.SourceRedis, ByContent: true}
	computed, from, err := b.page(ctx, cache.NewPageRequest(query.Dossier{Proposal: p.Key}), r.missing())
	if err == nil {
		err = computed.Decode(&evidence.Intelligence)
	}
	if err != nil { // the dossier has the imported analysis, too
		evidence.Intelligence = governance.NoIntelligence()
		evidence.Intelligence.Status = governance.IntelligencePending
		found.Live = true // the next request waits for the dossier, too
	}
	if err == nil {
		found.Source = from
		if until := computed.FreshUntil; until != nil && (view.FreshUntil == nil || *until < *view.FreshUntil) {
			found.View.FreshUntil = until
		}
	}
	found.Data = evidence
	return found, nil
}

// dossierWait is how long evidence waits for its dossier. Most take a tenth; the next caller gets a later one.
const dossierWait = time.Second
