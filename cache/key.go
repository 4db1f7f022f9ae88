package cache

import (
	"net/url"
	"strconv"
	"strings"

	"pnyx/governance"
	"pnyx/governance/query"
)

// formatVersion names the layout of keys and values. Raising it makes processes of two versions ignore each
// other's values instead of misreading them.
const formatVersion = "5"

// Namespace starts every key of this package.
const Namespace = "pnyx:" + formatVersion + ":"

// Key is the name of a value in Redis. Keys of this package are built in this file only.
type Key string

// A shared {tag} puts the keys of one script or transaction into one slot of a Redis Cluster.
const (
	leaseKey       Key = Namespace + "{worker}:lease"
	publicationKey Key = Namespace + "{worker}:publication"
	// fullPublicationKey holds a token while a full publication runs.
	fullPublicationKey Key = Namespace + "{worker}:full-publication"
	publishedChannel   Key = Namespace + "{worker}:published"     // has a message after each publication
	committedChannel   Key = Namespace + "{worker}:committed"     // has a message after each committed batch
	notificationsKey   Key = Namespace + "{worker}:notifications" // counts the messages of publishedChannel
	// exportsKey orders the sorted copies that exports read by the time until which they do.
	exportsKey Key = Namespace + "{worker}:exports"
	// previousRetiredKey says that values of the format before are to be deleted.
	previousRetiredKey Key = Namespace + "{worker}:previous-retired"
	// republishKey records that a corrupt view was found, or was found recently.
	republishKey Key = Namespace + "{worker}:republish"
	// changesKey is the stream of what was published, and feedStateKey how far the feed is in it.
	changesKey   Key = Namespace + "{worker}:changes"
	feedStateKey Key = Namespace + "{worker}:changes-of-feed"
	// feedNamesKey has the names under which lists of events show the DAOs.
	feedNamesKey Key = Namespace + "{worker}:names-of-feed"

	fillTag             = Namespace + "{fills}:"
	fillDoneChannel Key = fillTag + "done"

	daoIndexTag          = Namespace + "{daos}:"
	daoIndexStateKey Key = daoIndexTag + "state"
	daoIndexRowsKey  Key = daoIndexTag + "rows"
)

// DataStatusKey names the data status of a DAO, or with "" the global one.
func DataStatusKey(daoID string) Key { return viewKey("data-status", daoID) }

// DAODetailKey names the detail of a DAO.
func DAODetailKey(daoID string) Key { return viewKey("dao", daoID) }

// ProposalDetailKey names the detail of a proposal.
func ProposalDetailKey(key governance.ProposalKey) Key { return viewKey("proposal", string(key)) }

// VoteSummaryKey names the vote summary of a proposal.
func VoteSummaryKey(key governance.ProposalKey) Key { return viewKey("vote-summary", string(key)) }

// EvidenceKey names the evidence on a proposal.
func EvidenceKey(key governance.ProposalKey) Key { return viewKey("evidence", string(key)) }

// TopicDetailKey names the detail of a forum topic.
func TopicDetailKey(key governance.TopicKey) Key { return viewKey("topic", string(key)) }

// TimelineKey names a timeline of a DAO, with all its months.
func TimelineKey(daoID, metric string) Key { return viewKey("timeline", daoID, metric) }

// UsageKey names the usage of a token in the current month.
func UsageKey(tokenID string) Key { return viewKey("usage", tokenID) }

func versionKey(scope query.Scope) Key {
	return Key(Namespace + "version:" + string(scope.Kind) + ":" + scope.Subject)
}

func fillQueueKey(kind query.Kind) Key { return Key(fillTag + "queue:" + string(kind)) }

func pendingKey(page Key) Key { return fillTag + "pending:" + page }

func followLeaseKey(upstream string) Key {
	return Key(Namespace + "follow:lease:" + url.QueryEscape(upstream))
}

// viewKey escapes the parameters, so that no two lists of parameters share a key.
func viewKey(view string, parameters ...string) Key {
	var key strings.Builder
	key.WriteString(Namespace + "view:" + view)
	for _, parameter := range parameters {
		key.WriteString(":" + url.QueryEscape(parameter))
	}
	return Key(key.String())
}

func listKey(q query.DAOs) Key {
	flagged := ""
	if q.WithFlagged() {
		flagged = "flagged"
	}
	parts := []string{"list", boolText(q.HasVoteData), boolText(q.HasForumData), string(q.Coverage), flagged}
	return Key(daoIndexTag + strings.Join(parts, ":"))
}

func boolText(value *bool) string {
	if value == nil {
		return ""
	}
	return strconv.FormatBool(*value)
}
