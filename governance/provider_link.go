package governance

import (
	"regexp"
	"slices"
	"strings"
)

// snapshotHosts are the sites that have shown the proposals of Snapshot's spaces, old and new.
var snapshotHosts = map[string]bool{ //nolint:gochecknoglobals // a table
	"snapshot.org": true, "snapshot.page": true, "snapshot.box": true, "v1.snapshot.box": true,
}

// governorHost shows the proposals of Governors, as formerGovernorHost did.
const governorHost, formerGovernorHost = "tally.xyz", "withtally.com"

// snapshotID matches the id of a Snapshot proposal: a hash in hexadecimal, or a content id of IPFS.
var snapshotID = regexp.MustCompile(`^(?i:0x[0-9a-f]{64})$|^Qm[1-9A-HJ-NP-Za-km-z]{44}$|^baf[a-z2-7]{56}$`)

// hashedNumber matches the number of a Governor's proposal that is a hash. Others count from 1.
var hashedNumber = regexp.MustCompile(`^[1-9][0-9]{60,77}$`)

// chainPrefix begins the ids of accounts, and of Governors, on chains of Ethereum's kind.
const chainPrefix = "eip155:"

// governorID matches the id of a Governor as a source: chain and contract.
var governorID = regexp.MustCompile(`^eip155:[1-9][0-9]{0,18}:0x[0-9a-f]{40}$`)

// IsGovernorID reports whether a text is the id of a Governor: eip155:<chain>:<address in lower case>.
func IsGovernorID(text string) bool { return governorID.MatchString(text) }

// IsChain reports whether a text is the id of a chain: eip155:<chain>.
func IsChain(text string) bool {
	return IsGovernorID(text + ":0x0000000000000000000000000000000000000000")
}

// ExternalIDs returns the ids by which a proposal is found: its external id and, for a Governor's, the number on
// chain in it, eip155:<chain>:<address>/<number>.
func (p Provider) ExternalIDs(externalID string) []string {
	if _, number, found := strings.Cut(externalID, "/"); found && p == Governor {
		return []string{externalID, number}
	}
	return []string{externalID}
}

// KnownIDs returns the ids by which a search finds a proposal: ExternalIDs and, because Tally has ids of its own,
// the number on chain in the address of a page at Tally.
func (p Provider) KnownIDs(externalID, sourceURL string) []string {
	ids := p.ExternalIDs(externalID)
	if id := LinkedID(sourceURL); p == Tally && id != "" {
		ids = append(ids, id)
	}
	return ids
}

// ProposalURL returns the canonical address (see CanonicalURL) of a proposal's page at
// the provider, "" for a provider without such pages. At Tally, sourceID is the
// organization's slug, and externalID is either Tally's id or the one on chain.
func (p Provider) ProposalURL(sourceID, externalID string) string {
	source, id := strings.ToLower(sourceID), NormalizeExternalID(externalID)
	switch p {
	case Snapshot:
		return address{host: "snapshot.org", hash: &route{path: []string{source, "proposal", id}}}.String()
	case Tally:
		return address{host: governorHost, route: route{path: []string{"gov", source, "proposal", id}}}.String()
	default:
		return ""
	}
}

// LinkNames returns the names (see LinkedProposal) that links to a proposal may have, sorted. A proposal of Tally
// has two: some pages are addressed by the id on chain, some by Tally's own. A Governor's proposal has the id of
// its page at Tally under the contract's name.
func (p Provider) LinkNames(sourceID, externalID, sourceURL string) []string {
	names := []string{}
	switch p {
	case Snapshot:
		names = append(names, snapshotName(externalID))
	case Tally:
		names = append(names, governorName(sourceID, externalID))
		if name := LinkedProposal(sourceURL); name != "" {
			names = append(names, name)
		}
	case Governor:
		for _, id := range p.ExternalIDs(externalID)[1:] {
			names = append(names, governorName(sourceID, id))
		}
	default: // nothing links to it by another name than its address
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// LinkedProposal returns the name of the proposal that an address at Snapshot or Tally leads to, "" for none.
func LinkedProposal(text string) string {
	at := parseAddress(text)
	switch {
	case at.scheme != "":
	case snapshotHosts[at.host] && at.hash != nil:
		if parts := at.hash.path; len(parts) >= 3 && parts[1] == "proposal" {
			return snapshotName(parts[2])
		}
	case at.isGovernorPage():
		return governorName(at.path[1], at.path[3])
	}
	return ""
}

func (a address) isGovernorPage() bool {
	return (a.host == governorHost || a.host == formerGovernorHost) && len(a.path) >= 4 &&
		(a.path[0] == "gov" || a.path[0] == "governance") && a.path[2] == "proposal"
}

// LinkedID returns the id that an address of any site ends in: DAOs show their proposals on sites of their own. It
// is "" unless the id is a hash, which no other proposal has: Snapshot's ids are, and most numbers of Governors.
func LinkedID(text string) string {
	at := parseAddress(text)
	path := at.path
	if at.hash != nil {
		path = at.hash.path
	}
	for _, part := range slices.Backward(path) {
		part = strings.Trim(part, `<>()[]{}"'.,;:!`) // what a text puts around an address
		if snapshotID.MatchString(part) || hashedNumber.MatchString(part) {
			return NormalizeExternalID(part)
		}
	}
	return ""
}

// snapshotName leaves the space out: ids are hashes, and spaces get renamed.
func snapshotName(id string) string { return string(Snapshot) + ":" + lowerHexadecimal(id) }

func governorName(slug, id string) string {
	return string(Tally) + ":" + strings.ToLower(slug) + ":" + id
}

// TopicName returns the one name of a forum topic: the host without "www.", and the topic's number.
func TopicName(host, id string) string { return canonicalHost(host) + "/" + id }

// LinkedTopic returns the name of the topic that an address leads to, /t/slug/17 or /t/17 with or without a post
// number; "" for none.
func LinkedTopic(text string) string {
	at := parseAddress(text)
	start := slices.Index(at.path, "t")
	if at.scheme != "" || start < 0 || strings.Contains(text, "@") { // "@" marks a mail address or a password
		return ""
	}
	// A slug is never a number alone, so the first number is the topic's.
	for i, part := range at.path[start+1:] {
		id := strings.TrimSuffix(part, ".json")
		if i < 2 && isDigits(id) && id[0] != '0' {
			return TopicName(at.host, id)
		}
	}
	return ""
}

// knownPage returns the one address of a proposal or topic page that has several, and "" for any other page.
func (a address) knownPage() string {
	if a.scheme != "" {
		return ""
	}
	path := a.path
	switch {
	case snapshotHosts[a.host]:
		if a.hash != nil {
			path = a.hash.path
		}
		return snapshotPage(path)
	case a.isGovernorPage():
		return Tally.ProposalURL(path[1], path[3])
	case a.hash == nil && len(path) >= 2 && path[0] == "t":
		return a.topicPage()
	}
	return ""
}

// snapshotPage knows <space>/proposal/<id>, where "s:" may begin the space, and the older <space>/<id>.
func snapshotPage(path []string) string {
	switch {
	case len(path) >= 3 && path[1] == "proposal":
		return Snapshot.ProposalURL(strings.TrimPrefix(path[0], "s:"), path[2])
	case len(path) == 2 && snapshotID.MatchString(path[1]):
		return Snapshot.ProposalURL(strings.TrimPrefix(path[0], "s:"), path[1])
	}
	return ""
}

// topicPage knows t/<id> and t/<slug>/<id>, both with or without a post number.
func (a address) topicPage() string {
	for _, part := range a.path[1:min(len(a.path), 3)] {
		if id := strings.TrimSuffix(part, ".json"); isDigits(id) {
			return address{host: a.host, route: route{path: []string{"t", id}}}.String()
		}
	}
	return ""
}
