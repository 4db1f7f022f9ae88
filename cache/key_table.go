package cache

import (
	"bytes"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// keyFamily is keys that are alike.
type keyFamily struct {
	// keys are those of things that are named in capitals.
	keys []Key
	what string
	// by is who writes them, and goes when they go.
	by, goes string
}

// KeyTable returns, as Markdown, every key there may be in Redis, with what stands there.
func KeyTable() []byte {
	var text bytes.Buffer
	text.WriteString("# Every key in Redis\n\nMade by `make docs`. All begin with `" + namespace + "`, the version of the format: " +
		"processes of two versions do not see each other's values.\nWhat is in capitals is a name of something.\n\n" +
		"| key | what | written by | goes |\n|---|---|---|---|\n")
	for _, family := range keyFamilies() {
		names := make([]string, len(family.keys))
		for i, key := range family.keys {
			names[i] = "`" + key.legible() + "`"
		}
		fmt.Fprintf(&text, "| %s | %s | %s | %s |\n", strings.Join(names, ", "), family.what, family.by, family.goes)
	}
	return text.Bytes()
}

// legible is a key without what all begin with, and without escapes.
func (k Key) legible() string {
	text, err := url.QueryUnescape(string(k))
	if err != nil {
		return string(k) // it is a key all the same
	}
	return strings.Replace(text, namespace, "", 1)
}

func keyFamilies() []keyFamily {
	const proposal, never = "PROPOSAL", "never"
	removed := "never; when removed, the revision alone stays for " + spoken(tombstoneTTL)
	page := PageRequest{Kind: "KIND", Subject: "SUBJECT", Order: "ORDER", Limit: LongPage}
	return []keyFamily{
		{
			[]Key{
				ProposalDetailKey(proposal), VoteSummaryKey(proposal), EvidenceKey(proposal), TopicDetailKey("TOPIC"),
				DAODetailKey("DAO"), DataStatusKey("DAO"), DataStatusKey(""), TimelineKey("DAO", "METRIC"),
			},
			fmt.Sprintf("warm views: the revision, then msgpack, with S2 from %d bytes on", compressFrom), "publication", removed,
		},
		{[]Key{UsageKey("TOKEN")}, "the month of a token", "worker", never},
		{
			[]Key{versionKey("KIND", "SUBJECT")},
			"at which revision pages were last changed; of a list, those of one DAO, or without subject of all",
			"publication", removed,
		},
		{
			[]Key{page.Key()},
			"cold views: pages made on demand, each with its size, where it begins, and a hash of its filter", "fillers",
			spoken(pageTTL) + "; " + spoken(absentTTL) + ` for "there is none"`,
		},
		{
			[]Key{directoryRowsKey, directoryStateKey, DAOFilter{CoverageStatus: "COVERAGE"}.listKey()},
			fmt.Sprintf("the directory of DAOs: its rows, its revision, and %d lists, one for each filter", len(allFilters())), "publication", never,
		},
		{[]Key{publishedKey}, "the state of publication", "leader", never},
		{[]Key{leaseKey}, "who leads", "leader", "after `PNYX_LEASE_TTL` without a sign of life"},
		{[]Key{publishingKey}, "a token while everything is published", "leader", never},
		{[]Key{outdatedChannel}, "channel: something was published", "leader", ""},
		{[]Key{renewalKey}, "a view did not decode: everything is to be published again", "API nodes, leader", spoken(renewalEvery)},
		{[]Key{fillQueueKey}, fmt.Sprintf("pages that are asked for, %d at the most", MaxQueuedFills), "API nodes", "as they are taken"},
		{[]Key{pendingKey("PAGE")}, "who is at a page", "API nodes, fillers", "when the page is there; else after " + spoken(pendingFor) + ", or the caller's patience"},
		{[]Key{fillDoneChannel}, "channel: a page is there", "fillers", ""},
		{[]Key{tokensKey}, "all valid tokens", "worker, `pnyx token`", never},
		{[]Key{Key("rate:" + BucketKey("CALLER", "BUCKET"))}, "a token bucket; redis_rate puts `rate:` before all", "API nodes", "when it is full"},
		{[]Key{QuotaKey("CALLER", "MONTH")}, "the quota of a month", "API nodes, worker", spoken(QuotaTTL)},
		{[]Key{usageKey}, "counts on their way to the warehouse", "API nodes", "within a second"},
		{
			[]Key{paymentKey("PAYMENT"), paymentEndsKey},
			"payments, and when they are forgotten", "API nodes",
			spoken(paymentKeptFor) + " after they have run out, by the worker",
		},
		{[]Key{paymentLeaseKey("PAYMENT")}, "who works on a payment", "API nodes", "the timeouts added up"},
		{[]Key{paidAnswerKey("PAYMENT")}, "the answer that was paid for", "API nodes", spoken(paidAnswerKeptFor)},
		{
			[]Key{paymentJournalKey, paymentDueKey},
			"states on their way to the ledger; outcomes to look into", "API nodes",
			"within a second; once known",
		},
		{[]Key{paymentRestoredKey}, "the ledger's payments are there", "worker", never},
	}
}

// spoken is a duration in its largest whole unit.
func spoken(d time.Duration) string {
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
