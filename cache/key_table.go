package cache

import (
	"bytes"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"pnyx/governance/query"
)

// KeySection describes the keys of one package.
type KeySection struct {
	// Title begins the paragraph Text above the list, in Markdown.
	Title, Text string
	// Families are the items of the list.
	Families []KeyFamily
}

// KeyFamily describes keys that hold the same kind of value.
type KeyFamily struct {
	// Keys are examples in which an upper-case word stands for a parameter.
	Keys []Key
	// Contents says what is stored, Writer which component writes it, and Lifetime when
	// it expires or is deleted.
	Contents, Writer, Lifetime string
}

// NeverExpires is the Lifetime of keys that nothing deletes.
const NeverExpires = "never expires"

// KeyTable returns the documentation of keys as Markdown, for the page on production.
func KeyTable(sections ...KeySection) []byte {
	var text bytes.Buffer
	for i, section := range sections {
		if i > 0 {
			text.WriteString("\n")
		}
		fmt.Fprintf(&text, "**%s.** %s\n\n", section.Title, section.Text)
		for _, family := range section.Families {
			names := make([]string, len(family.Keys))
			for i, key := range family.Keys {
				names[i] = "`" + key.readable() + "`"
			}
			fmt.Fprintf(&text, "- %s: %s (%s)\n", strings.Join(names, ", "), family.Contents,
				strings.TrimSuffix(family.Writer+"; "+family.Lifetime, "; "))
		}
	}
	return text.Bytes()
}

// readable returns a key without its namespace and without escapes.
func (k Key) readable() string {
	text, err := url.QueryUnescape(string(k))
	if err != nil {
		return string(k)
	}
	if before, after, found := strings.Cut(text, "pnyx:"); found {
		_, name, _ := strings.Cut(after, ":")
		return before + name
	}
	return text
}

// Keys describes every key and channel of the package for the generated documentation.
func Keys() KeySection {
	return KeySection{
		Title: "Cache",
		Text: "All keys start with `" + Namespace + "`, the version of the format: processes of two versions " +
			"ignore each other's values. After an upgrade the leader deletes the keys of the version before, a day after " +
			"its last worker has ended.",
		Families: append(viewFamilies(), workerFamilies()...),
	}
}

func viewFamilies() []KeyFamily {
	const proposal, worker = "PROPOSAL", "leader"
	removed := NeverExpires + "; a removed key keeps its revision for " + FormatLifetime(tombstoneTTL)
	return []KeyFamily{
		{
			Keys: []Key{
				ProposalDetailKey(proposal), VoteSummaryKey(proposal), EvidenceKey(proposal),
				TopicDetailKey("TOPIC"), DAODetailKey("DAO"), DataStatusKey("DAO"), DataStatusKey(""),
				TimelineKey("DAO", "METRIC"),
			},
			Contents: fmt.Sprintf("views: the revision, then msgpack, compressed with S2 from %d bytes on", minCompressed),
			Writer:   worker, Lifetime: removed,
		},
		{
			Keys:     []Key{UsageKey("TOKEN")},
			Contents: "usage of a token in the current month", Writer: "worker", Lifetime: NeverExpires,
		},
		{
			Keys: []Key{versionKey(query.Scope{Kind: "KIND", Subject: "SUBJECT"})},
			Contents: "revision at which pages last changed; the subject of a list is a DAO, " +
				"or empty for the list of all DAOs",
			Writer: worker, Lifetime: removed,
		},
		{
			Keys:     []Key{viewKey("page", "KIND", "SUBJECT", "HASH")},
			Contents: "pages built on demand; HASH is the query's hash", Writer: "fillers",
			Lifetime: FormatLifetime(pageTTL) + "; " + FormatLifetime(partTTL) + " for a part of an export, " +
				FormatLifetime(absentTTL) + " for a subject that does not exist",
		},
		{
			Keys: []Key{daoIndexRowsKey, daoIndexStateKey, daoListKey("VOTES", "FORUM", "COVERAGE", "FLAGGED")},
			Contents: fmt.Sprintf("the DAO index: its rows, its revision and %d lists, one for each filter",
				len(allFilters())),
			Writer: worker, Lifetime: NeverExpires,
		},
	}
}

func workerFamilies() []KeyFamily {
	const leader, nodes, fillers = "leader", "API nodes", "fillers"
	return []KeyFamily{
		{Keys: []Key{publicationKey}, Contents: "the state of publication", Writer: leader, Lifetime: NeverExpires},
		{
			Keys: []Key{exportsKey}, Contents: "sorted copies that exports of ballots read, by the time until which they do",
			Writer: fillers, Lifetime: FormatLifetime(ExportTTL) + " after the last export was begun",
		},
		{
			Keys: []Key{leaseKey}, Contents: "holder of the lease", Writer: leader,
			Lifetime: "`PNYX_LEASE_TTL` after the last renewal",
		},
		{
			Keys: []Key{followLeaseKey("UPSTREAM")}, Contents: "holder of the lease of a followed upstream",
			Writer: "follower", Lifetime: "30 s after the last renewal",
		},
		{
			Keys: []Key{fullPublicationKey}, Contents: "token of the last full publication", Writer: leader,
			Lifetime: NeverExpires,
		},
		{
			Keys: []Key{previousRetiredKey}, Contents: "values of the version before are to be deleted", Writer: leader,
			Lifetime: "until they are deleted",
		},
		{
			Keys:     []Key{publishedChannel},
			Contents: "channel: the number of the message, and the tags of what was published", Writer: leader,
		},
		{Keys: []Key{committedChannel}, Contents: "channel: a batch was committed", Writer: "imports, followers"},
		{
			Keys: []Key{notificationsKey}, Contents: "number of the last message of the channel", Writer: leader,
			Lifetime: NeverExpires,
		},
		{
			Keys:     []Key{republishKey},
			Contents: "a view did not decode: a full publication is requested, or was done",
			Writer:   nodes + ", leader", Lifetime: FormatLifetime(republishInterval),
		},
		{
			Keys: []Key{changesKey},
			Contents: fmt.Sprintf("stream: the keys of what was published, at most %d rows, after a row or marker "+
				"where it begins; a copy of the log in the warehouse", MaxChanges),
			Writer: leader, Lifetime: "rows: " + FormatLifetime(ChangeTTL),
		},
		{
			Keys:     []Key{feedStateKey},
			Contents: "revision and time up to which events and signals are in the stream of changes",
			Writer:   leader, Lifetime: NeverExpires,
		},
		{
			Keys: []Key{feedNamesKey}, Contents: "names under which lists of events show the DAOs", Writer: leader,
			Lifetime: NeverExpires,
		},
		{
			Keys:     []Key{fillQueueKey("KIND")},
			Contents: fmt.Sprintf("requested pages of one kind, at most %d", MaxQueuedFills), Writer: nodes,
			Lifetime: "until a filler takes them",
		},
		{
			Keys: []Key{fillWakeKey("WAIT")}, Contents: "ends one wait of a filler that stops", Writer: fillers,
			Lifetime: FormatLifetime(wakeTTL),
		},
		{
			Keys: []Key{pendingKey("PAGE")}, Contents: "the page is requested or being filled",
			Writer: nodes + ", " + fillers,
			Lifetime: "until the page is stored, at most " + FormatLifetime(pendingTTL) +
				" or the deadline of the request",
		},
		{Keys: []Key{fillDoneChannel}, Contents: "channel: a page was filled", Writer: fillers},
	}
}

// FormatLifetime formats a duration in its largest whole unit.
func FormatLifetime(d time.Duration) string {
	for _, unit := range []struct {
		name   string
		length time.Duration
	}{{"days", 24 * time.Hour}, {"h", time.Hour}, {"min", time.Minute}} {
		if d%unit.length == 0 {
			return strconv.Itoa(int(d/unit.length)) + " " + unit.name
		}
	}
	return strconv.Itoa(int(d/time.Second)) + " s"
}
