package governance

import (
	"slices"
	"strings"
)

// TopicName returns the one name of a forum topic under which addresses of every
// form find it: the forum's host without "www." and the topic's number.
func TopicName(host, id string) string {
	return canonicalHost(host) + "/" + id
}

// TopicLinked returns the name (see TopicName) of the forum topic that an address
// leads to, "" where it leads to none. Known are the forms of Discourse: /t/slug/17
// and /t/17, either with the number of a post after it.
func TopicLinked(text string) string {
	at := parseAddress(text)
	start := slices.Index(at.path, "t")
	if at.scheme != "" || start < 0 || strings.Contains(text, "@") { // a mail's address, or a password
		return ""
	}
	// No slug is a number alone, so the first number is the topic's.
	for i, part := range at.path[start+1:] {
		id := strings.TrimSuffix(part, ".json")
		if i < 2 && isNumber(id) {
			return TopicName(at.host, id)
		}
	}
	return ""
}

// ProposalLinked returns the name of the proposal that an address leads to, ""
// where it leads to none; ProposalNames says which proposals have that name. Known
// are the pages of Snapshot (of its sites of every age) and of Tally.
func ProposalLinked(text string) string {
	at := parseAddress(text)
	switch {
	case at.scheme != "":
	case snapshotHosts[at.host] && at.hash != nil:
		if parts := at.hash.path; len(parts) == 3 && parts[1] == "proposal" {
			return snapshotName(parts[2])
		}
	case at.host == tallyHost:
		if parts := at.path; len(parts) == 4 && parts[0] == "gov" && parts[2] == "proposal" {
			return tallyName(parts[1], parts[3])
		}
	}
	return ""
}

// ProposalNames returns the names that links to a proposal may have: sorted, each
// once. A Governor's proposal has two, because Tally's pages go by the number on
// chain, and some by Tally's own.
func ProposalNames(provider Provider, sourceID, externalID, sourceURL string) []string {
	names := []string{}
	switch provider {
	case Snapshot:
		names = append(names, snapshotName(externalID))
	case Tally:
		names = append(names, tallyName(sourceID, externalID))
		if name := ProposalLinked(sourceURL); name != "" {
			names = append(names, name)
		}
	case Discourse:
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// snapshotName leaves the space out: ids are hashes, and spaces were renamed.
func snapshotName(id string) string {
	return string(Snapshot) + ":" + VoterIdentity(id)
}

func tallyName(slug, id string) string {
	return string(Tally) + ":" + strings.ToLower(slug) + ":" + id
}

// isNumber says whether a text is a number as keys are written: without zeros
// before it.
func isNumber(text string) bool {
	return text != "" && text[0] != '0' && strings.Trim(text, "0123456789") == ""
}
