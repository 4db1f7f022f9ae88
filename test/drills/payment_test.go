package drills

import (
	"net/http"
	"time"
)

// paymentDrills break the facilitator.
func paymentDrills() []drill {
	return []drill{
		{
			name: "Facilitator down", fault: "connections are refused for 10 s", lasts: 10 * time.Second,
			breaks: func(s *deployment) func() { s.apiToFacilitator.close(); return s.apiToFacilitator.open },
		},
		{
			name: "Facilitator hangs", fault: "no answer for 10 s", lasts: 10 * time.Second,
			breaks: func(s *deployment) func() { s.apiToFacilitator.swallow(); return s.apiToFacilitator.mend },
		},
		{
			name: "Facilitator charges and does not say so", fault: "settles, and answers nothing, for 10 s", lasts: 10 * time.Second,
			breaks: func(s *deployment) func() {
				s.ledger.Behave("settle", func(_ http.ResponseWriter, r *http.Request, honest func() any) {
					honest()
					<-r.Context().Done()
				})
				return func() { s.ledger.Behave("settle", nil) }
			},
		},
	}
}
