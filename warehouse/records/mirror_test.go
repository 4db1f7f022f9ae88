package records_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

func TestMirrorsAreFoundFromBothSides(t *testing.T) {
	t.Parallel()
	w := env.Warehouse(t)
	const governor = "eip155:1:0x21df544947ba3e8b3c32561399e88b52dc8b28aa"
	write := func(provider governance.Provider, source, id, onchainID string, withdrawn bool) record.RefHash {
		t.Helper()
		p := &record.Proposal{
			ProposalRef: record.ProposalRef{Provider: provider, ExternalID: id}, SourceID: source,
			SourceURL: "https://" + source + ".example/" + id, OnchainID: onchainID, Withdrawn: withdrawn,
		}
		run := records.Import{ID: uuid.New(), ObservedAt: time.UnixMilli(0).UTC()}
		env.Must(records.Append(t.Context(), w, run, []record.Record{p}))(t)
		return p.Hash()
	}
	onchain := write(governance.Governor, governor, governor+"/85", governor+"/85", false)
	mirrored := write(governance.Tally, "harbor", "2085", governor+"/85", false)
	alone := write(governance.Tally, "harbor", "2086", governor+"/86", false)
	gone := write(governance.Governor, governor, governor+"/87", governor+"/87", true)
	ofGone := write(governance.Tally, "harbor", "2087", governor+"/87", false)
	write(governance.Tally, "harbor", "2088", governor+"/85", true)
	write(governance.Snapshot, "harbor.eth", "0x1", "", false)

	mirror := func(ref, original record.RefHash, id string, withdrawn bool) records.Mirror {
		return records.Mirror{
			Ref: ref, Original: original, Provider: governance.Tally, SourceID: "harbor", ExternalID: id,
			SourceURL: "https://harbor.example/" + id, Governor: governor, OriginalWithdrawn: withdrawn,
		}
	}
	of85, of87 := mirror(mirrored, onchain, "2085", false), mirror(ofGone, gone, "2087", true)
	for name, c := range map[string]struct {
		refs []record.RefHash
		want []records.Mirror
	}{
		"from the mirror":                 {[]record.RefHash{mirrored}, []records.Mirror{of85}},
		"from the Governor":               {[]record.RefHash{onchain}, []records.Mirror{of85}},
		"from a Governor that withdrew":   {[]record.RefHash{gone}, []records.Mirror{of87}},
		"the warehouse has Tally's alone": {[]record.RefHash{alone}, nil},
		"proposals that are none":         {[]record.RefHash{{1}}, nil},
		"none are wanted":                 {[]record.RefHash{}, nil},
		"every one":                       {nil, []records.Mirror{of85, of87}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := records.Mirrors(t.Context(), w, c.refs)
			byID := func(mirrors []records.Mirror) map[string]records.Mirror {
				found := map[string]records.Mirror{}
				for _, m := range mirrors {
					found[m.ExternalID] = m
				}
				return found
			}
			if diff := cmp.Diff(byID(c.want), byID(got)); diff != "" || err != nil {
				t.Errorf("mirrors: %v (-want +got):\n%s", err, diff)
			}
		})
	}
}
