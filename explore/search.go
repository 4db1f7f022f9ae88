package explore

import (
	"errors"
	"net/http"
	"regexp"

	"pnyx/api/apierror"
	"pnyx/governance"
)

// voterAddress is an identity that a search looks up as a voter.
var voterAddress = regexp.MustCompile(`^0x(?:[0-9a-f]{40}|[0-9a-f]{64})$`)

// found is what a text names besides DAOs. At most one paid route is read for it.
type found struct {
	// Proposal is the key that the text is, and Voter the voter whose address it is; empty for none.
	Proposal governance.ProposalKey
	Voter    string
	// Titled are proposals with the text in their titles; nil where the text is a key or an address,
	// or too short.
	Titled *part[[]governance.ProposalListItem]
}

// find finds proposals and voters. Without credentials an address is a voter whether it has voted or not.
func find(v *visit, text string) (f found, err error) {
	const titlesFound = "20" // how many proposals a search by title shows
	if key, err := governance.ParseProposalKey(text); err == nil {
		return found{Proposal: key}, nil
	}
	if voter := governance.VoterIdentity(text); voterAddress.MatchString(voter) {
		profile, err := load[governance.VoterProfile](v, "voters.profile", texts{argVoter: voter})
		if err == nil && (profile.Box == nil || profile.Box.err == nil || profile.Box.err.Status != http.StatusNotFound) {
			f.Voter = voter
		}
		return f, err
	}
	titled, err := load[[]governance.ProposalListItem](v, "proposals.list", texts{"q": text, argLimit: titlesFound})
	if failed, is := errors.AsType[*apierror.Error](err); is && failed.Status == http.StatusBadRequest { // it is too short
		return f, nil
	}
	return found{Titled: &titled}, err
}
