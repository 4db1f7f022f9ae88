package source

import (
	"fmt"
	"strings"

	"pnyx/warehouse/record"
)

// Format is a shape of lines that Pnyx reads, in words. The empty Format is that
// of a file without any record.
type Format string

// The formats, in order of import.
const (
	DAO               Format = "DAO"
	SnapshotSpace     Format = "Snapshot space"
	TallyOrganization Format = "Tally organization"
	DiscourseCategory Format = "Discourse category"
	SnapshotProposal  Format = "Snapshot proposal"
	TallyProposal     Format = "Tally proposal"
	DiscourseTopic    Format = "Discourse topic"
	SnapshotVote      Format = "Snapshot vote"
	TallyVote         Format = "Tally vote"
	Canonical         Format = "canonical record"
)

// Formats lists every Format, in order of import.
func Formats() []Format {
	return []Format{
		DAO, SnapshotSpace, TallyOrganization, DiscourseCategory, SnapshotProposal,
		TallyProposal, DiscourseTopic, SnapshotVote, TallyVote, Canonical,
	}
}

// Kind returns the kind of the records that such a file holds. It is empty for
// canonical files, whose lines may be of several kinds.
func (f Format) Kind() record.Kind {
	switch f {
	case DAO:
		return record.KindDAO
	case SnapshotSpace, TallyOrganization:
		return record.KindSource
	case DiscourseCategory:
		return record.KindCategory
	case SnapshotProposal, TallyProposal:
		return record.KindProposal
	case DiscourseTopic:
		return record.KindTopic
	case SnapshotVote, TallyVote:
		return record.KindBallot
	default:
		return ""
	}
}

// fields names the fields by which people know a format.
func (f Format) fields() string {
	switch f {
	case DAO:
		return "daoId, name, sources"
	case SnapshotSpace:
		return "id, name, network, symbol"
	case TallyOrganization, DiscourseCategory:
		return "id, name, slug"
	case SnapshotProposal:
		return "id, space, author, choices"
	case TallyProposal:
		return "id, onchainId, organization, metadata"
	case DiscourseTopic:
		return "id, title, category_id, posts_count"
	case SnapshotVote:
		return "id, proposal, voter, choice, vp"
	case TallyVote:
		return "id, proposal, voter, type, amount"
	case Canonical:
		return "record, version"
	default:
		return ""
	}
}

// formatOf tells a format by the fields that no other has; it is empty for an
// object of no known shape. What those fields hold, its reader checks.
func formatOf(in object) Format {
	switch {
	case in.has("record"):
		return Canonical
	case in.has("voter"):
		return formatOfVote(in)
	case in.has("space") && !in.has("proposal"):
		return SnapshotProposal
	case in.has("organization") && in.hasAny("onchainId", "metadata"):
		return TallyProposal
	case in.hasAny("category_id", "posts_count"):
		return DiscourseTopic
	case in.has("daoId") && in.has("sources"):
		return DAO
	case in.has("name") && in.has("slug"):
		return formatOfSlug(in)
	case in.has("name") && in.hasAny("network", "symbol"):
		return SnapshotSpace
	}
	return ""
}

func formatOfVote(in object) Format {
	switch {
	case in.hasAny("vp", "choice"):
		return SnapshotVote
	case in.hasAny("amount", "type"):
		return TallyVote
	}
	return ""
}

// formatOfSlug tells apart by their ids what has the same fields otherwise.
func formatOfSlug(in object) Format {
	switch kindOf(in.get("id").json) {
	case kindText:
		return TallyOrganization
	case kindNumber:
		return DiscourseCategory
	default:
		return ""
	}
}

// read reads a line of the file's format. Whether the record is one, the line's
// reason tells.
func (f File) read(in object) record.Record {
	switch f.Format {
	case DAO:
		return readDAO(in)
	case SnapshotSpace:
		return readSnapshotSpace(in)
	case TallyOrganization:
		return readTallyOrganization(in)
	case DiscourseCategory:
		return readDiscourseCategory(in, f.Host)
	case SnapshotProposal:
		return readSnapshotProposal(in)
	case TallyProposal:
		return readTallyProposal(in)
	case DiscourseTopic:
		return readDiscourseTopic(in, f.Host)
	case SnapshotVote:
		return readSnapshotVote(in)
	case TallyVote:
		return readTallyVote(in)
	default:
		return readCanonical(in)
	}
}

// parse turns a line into a record, or says why it is none.
func (f File) parse(l *line, text []byte) (parsed record.Record, reason string) {
	if err := checkJSON(text); err != nil {
		return nil, err.Error()
	}
	if found := kindOf(text); found != kindObject {
		return nil, fmt.Sprintf("is %s; want an object", found)
	}
	in := l.open(text)
	found := formatOf(in)
	if found != f.Format && found != "" {
		return nil, fmt.Sprintf("is a %s in a file of another kind; want a %s", found, f.Format)
	}
	parsed = f.read(in)
	if l.reason == "" && found == "" {
		l.reason = fmt.Sprintf("has fields %s; want those of a %s: %s", fieldNames(in), f.Format, f.Format.fields())
	}
	if l.reason != "" {
		return nil, l.reason
	}
	return parsed, ""
}

// fieldNames shows which fields an object has.
func fieldNames(in object) string {
	const most, mostBytes = 12, 40
	var names []string
	for _, field := range in.members[:min(len(in.members), most)] {
		names = append(names, clip(string(field.name), mostBytes))
	}
	if len(in.members) > most {
		names = append(names, "…")
	}
	if len(names) == 0 {
		return "(none)"
	}
	return strings.Join(names, ", ")
}
