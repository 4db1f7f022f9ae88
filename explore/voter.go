package explore

import (
	"pnyx/api/param"
	"pnyx/governance"
)

// voterPage is what the page of one voter shows. It reads at most two routes.
type voterPage struct {
	Trail []crumb
	Voter string
	// Profile is the voter over all DAOs; the page after the first has none.
	Profile part[governance.VoterProfile]
	// Votes is a page of the voter's ballots, the newest first, and Next the address of the next page.
	Votes part[[]governance.VoterVote]
	Next  string
	// First says that there is no page before this one.
	First bool
}

func showVoter(v *visit) (shown, error) {
	voter, err := v.param(argVoter)
	if err != nil {
		return shown{}, err
	}
	query, err := v.query(param.Param{Name: argCursor, Kind: param.Cursor})
	if err != nil {
		return shown{}, err
	}
	data := voterPage{Trail: []crumb{{Text: "Voter"}}, Voter: governance.VoterIdentity(voter), First: query[argCursor] == ""}
	if data.First {
		if data.Profile, err = loadMain[governance.VoterProfile](v, "voters.profile", texts{argVoter: voter}); err != nil {
			return shown{}, err
		}
	}
	if data.Votes, err = loadMain[[]governance.VoterVote](v, "voters.votes", with(query, argVoter, voter)); err != nil {
		return shown{}, err
	}
	if data.Votes.Next != "" {
		data.Next = address(pathVoter, voter, texts{argCursor: data.Votes.Next})
	}
	return shown{view: viewVoter, data: data, title: "Voter " + data.Voter, description: "What one voter voted, over all DAOs."}, nil
}
