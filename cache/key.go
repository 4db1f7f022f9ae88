package cache

import (
	"net/url"
	"strconv"
	"strings"

	"pnyx/governance"
)

// formatVersion names the layout of keys and values. Raising it makes processes
// of two versions blind to each other's values instead of misreading them.
const formatVersion = "3"

// namespace begins every key.
const namespace = "pnyx:" + formatVersion + ":"

// Key is the name of a value in Redis. Keys are made in this file only.
type Key string

// Keys that belong together share a {tag}, so that a Redis Cluster keeps them in
// one slot and a script may touch them all.
const (
	leaseKey     Key = namespace + "{worker}:lease"
	publishedKey Key = namespace + "{worker}:published"
	// publishingKey holds a token while everything is published.
	publishingKey Key = namespace + "{worker}:publishing"
	// outdatedChannel carries the news that something was published.
	outdatedChannel Key = namespace + "{worker}:outdated"
	// renewalKey says that a view is broken, or was.
	renewalKey Key = namespace + "{worker}:renewal"

	fillTag             = namespace + "{fills}:"
	fillQueueKey    Key = fillTag + "queue"
	fillDoneChannel Key = fillTag + "done"

	paymentTag             = namespace + "{payments}:"
	paymentJournalKey      = Key(paymentTag + "journal")
	paymentDueKey          = Key(paymentTag + "due")
	paymentEndsKey         = Key(paymentTag + "ends")
	paymentRestoredKey     = Key(paymentTag + "restored")
	tokensKey          Key = namespace + "{tokens}:all"
	usageKey           Key = namespace + "{usage}:journal"

	directoryTag               = namespace + "{daos}:"
	directoryStateKey      Key = directoryTag + "state"
	directoryRowsKey       Key = directoryTag + "rows"
	directoryListKeyPrefix     = directoryTag + "list:"
)

// DataStatusKey names the data status of a DAO, or with "" the global one.
func DataStatusKey(daoID string) Key {
	return viewKey("data-status", daoID)
}

// DAODetailKey names the detail of a DAO.
func DAODetailKey(daoID string) Key {
	return viewKey("dao", daoID)
}

// ProposalDetailKey names the detail of a proposal.
func ProposalDetailKey(key governance.ProposalKey) Key {
	return viewKey("proposal", string(key))
}

// VoteSummaryKey names the vote summary of a proposal.
func VoteSummaryKey(key governance.ProposalKey) Key {
	return viewKey("vote-summary", string(key))
}

// EvidenceKey names the evidence on a proposal.
func EvidenceKey(key governance.ProposalKey) Key {
	return viewKey("evidence", string(key))
}

// TopicDetailKey names the detail of a forum topic.
func TopicDetailKey(key governance.TopicKey) Key {
	return viewKey("topic", string(key))
}

// TimelineKey names a timeline of a DAO, all its months.
func TimelineKey(daoID, metric string) Key {
	return viewKey("timeline", daoID, metric)
}

// UsageKey names the usage of a token.
func UsageKey(tokenID string) Key {
	return viewKey("usage", tokenID)
}

// BucketKey names a bucket of a caller, within the limiter's own key space.
func BucketKey(caller, bucket string) string {
	return namespace + "{limit:" + caller + "}:" + bucket
}

// QuotaKey names the count of what a caller has used of a month.
func QuotaKey(caller, month string) Key {
	return Key(namespace + "{limit:" + caller + "}:month:" + month)
}

// versionKey names the mark of a proposal's or DAO's pages.
func versionKey(kind PageKind, subject string) Key {
	return Key(namespace + "mark:" + string(kind) + ":" + subject)
}

// pendingKey names the note that a page is being made.
func pendingKey(page Key) Key {
	return fillTag + "pending:" + page
}

// paymentKey names what is known of a payment.
func paymentKey(id string) Key {
	return Key(paymentTag + "claim:" + id)
}

// paymentLeaseKey names the right to work on a payment.
func paymentLeaseKey(id string) Key {
	return Key(paymentTag + "lease:" + id)
}

// paidAnswerKey names the answer that a payment was for.
func paidAnswerKey(id string) Key {
	return Key(paymentTag + "answer:" + id)
}

// viewKey escapes the parameters, so that none can run into the next.
func viewKey(view string, parameters ...string) Key {
	var key strings.Builder
	key.WriteString(namespace + "view:" + view)
	for _, parameter := range parameters {
		key.WriteString(":" + url.QueryEscape(parameter))
	}
	return Key(key.String())
}

// listKey names the ordered set of the DAOs that a filter lets through.
func (f DAOFilter) listKey() Key {
	return Key(directoryListKeyPrefix +
		boolText(f.HasVoteData) + ":" + boolText(f.HasForumData) + ":" + string(f.CoverageStatus))
}

// boolText returns "" for a filter that is not set.
func boolText(value *bool) string {
	if value == nil {
		return ""
	}
	return strconv.FormatBool(*value)
}
