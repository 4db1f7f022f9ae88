package demo

import "strings"

// Durations in seconds.
const (
	minute = 60
	hour   = 60 * minute
	day    = 24 * hour
)

// minAge and maxAge bound the age of a DAO, in seconds.
const (
	minAge = 200 * day
	maxAge = 4 * 365 * day
)

// maxDelegateDAOs is the number of DAOs in which the most active voter takes part,
// and maxDelegateVotes bounds their ballots in each.
const (
	maxDelegateDAOs  = 40
	maxDelegateVotes = 50
)

// dao is an invented DAO, with the state that its generation carries from proposal
// to proposal.
type dao struct {
	index int
	key   uint64
	// slug, name and symbol identify the DAO. shortName is name without its suffix.
	slug, name, symbol string
	shortName          string
	// code precedes the numbers of its proposals ("BRIP-12"); empty if the DAO does
	// not number them.
	code     string
	headings headings
	// spaces are its Snapshot spaces, organization its slug at Tally and forum the
	// host of its Discourse forum; empty where the DAO has none.
	spaces       []string
	organization string
	forum        string
	// unlisted is true if daos.ndjson does not list the DAO. Its source then counts
	// as a DAO of its own.
	unlisted bool
	// memberships is true if voting power is a small integer.
	memberships bool
	// age is the age of the DAO and duration the length of a vote, in seconds.
	age, duration int64
	// minPoolStep is the minimum number of pool members per shared rank (see member).
	minPoolStep uint64
	// minRankStep is the minimum number of ranks per ballot. It grows with the number
	// of proposals, so that even the most active member votes on a part of them.
	minRankStep uint64

	// delegateBallots counts the ballots of the most active voter.
	delegateBallots int
	// lastTopicID is the highest topic number in the forum.
	lastTopicID int
	// lastPassed is the last proposal that passed off chain. An on-chain proposal may
	// execute it.
	lastPassed *proposal
}

// newDAO draws the DAO with the given index, which has so many proposals.
func (t texts) newDAO(o Options, rng random, index, proposals int) *dao {
	key := deriveKey(o.Seed, streamDAO, unsigned(index))
	rng.seed(key)
	d := &dao{
		index: index, key: key, headings: headingsOf(rng.IntN(3)), lastTopicID: 6 + rng.IntN(20),
		memberships: index%7 == 5,
		age:         minAge + rng.Int64N(maxAge-minAge),
		duration:    int64(rng.between(3, 7) * day),
		minPoolStep: unsigned(max(o.DAOs/12, 1)),
		minRankStep: unsigned(1 + proposals/800),
	}
	t.words.nameDAO(rng, d, o.Seed)
	rng.seed(deriveKey(key, streamCode))
	if rng.oneIn(2) {
		d.code = d.symbol[:2] + "IP"
	}
	d.assignSources(o.DAOs)
	return d
}

// nameDAO gives a DAO a unique name. Every short name occurs once before any occurs
// again with another suffix.
func (words wordLists) nameDAO(rng random, d *dao, seed uint64) {
	const step = 1187 // a prime, so that each round visits every short name once
	rng.seed(deriveKey(seed, streamName))
	i := (rng.IntN(words.shortNames()) + d.index*step) % words.shortNames()
	rng.seed(deriveKey(seed, streamName), i)
	round := d.index / words.shortNames()
	suffixes := words.NameSuffixes
	suffix := suffixes[(rng.IntN(len(suffixes))+round)%len(suffixes)]
	d.shortName = words.shortName(i)
	d.name = d.shortName + " " + suffix
	d.symbol = strings.ToUpper(d.shortName[:3+i%2])
	d.slug = strings.ToLower(d.shortName)
	if round > 0 {
		d.slug += "-" + strings.ToLower(suffix)
	}
}

// assignSources gives a DAO its sources. The first DAO of several gets every kind;
// the last two get one source each that daos.ndjson does not list.
func (d *dao) assignSources(daos int) {
	switch fromEnd := daos - 1 - d.index; {
	case fromEnd == 0 && daos >= 3:
		d.unlisted = true
		d.spaces = []string{d.slug + ".eth"}
		return
	case fromEnd == 1 && daos >= 8:
		d.unlisted = true
		d.organization = d.slug
		return
	}
	if onChainOnly := d.index%16 == 6; onChainOnly {
		d.organization = d.slug
	} else {
		names := []string{d.slug + ".eth", d.slug + "dao.eth", "gov." + d.slug + ".eth", d.slug + "gov.eth"}
		d.spaces = []string{names[d.index%len(names)]}
	}
	if d.index%16 == 3 {
		d.spaces = append(d.spaces, "council."+d.slug+".eth")
	}
	if d.index%8 == 0 || d.index%8 == 2 {
		d.organization = d.slug
	}
	if d.index%8 == 0 || d.index%8 == 1 || d.index%8 == 4 || d.index%16 == 6 {
		d.forum = "forum." + d.slug + ".example"
	}
}

// hybrid reports whether the DAO votes both off chain and on chain.
func (d *dao) hybrid() bool {
	return len(d.spaces) > 0 && d.organization != ""
}

// onChain reports whether the proposal with the given index is voted on chain. In a
// hybrid DAO every third one is.
func (d *dao) onChain(index int) bool {
	return len(d.spaces) == 0 || d.organization != "" && index%3 == 2
}

type daoLine struct {
	ID        string         `json:"daoId"`
	Name      string         `json:"name"`
	Sources   []sourceLine   `json:"sources"`
	Tokens    []string       `json:"tokens,omitempty"`
	Contracts []contractLine `json:"contracts,omitempty"`
}

type contractLine struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

type sourceLine struct {
	Provider string `json:"provider"`
	ID       string `json:"id"`
}

func (d *dao) line() daoLine {
	line := daoLine{ID: d.slug, Name: d.name}
	for _, space := range d.spaces {
		line.Sources = append(line.Sources, sourceLine{"snapshot", space})
	}
	if d.organization != "" {
		line.Sources = append(line.Sources, sourceLine{"tally", d.organization})
		line.Tokens = []string{d.token()}
		line.Contracts = []contractLine{{"eip155:1:" + d.contract(0), "Protocol"}, {"eip155:1:" + d.contract(1), "Grants Council"}}
	}
	if d.forum != "" {
		line.Sources = append(line.Sources, sourceLine{"discourse", d.forum})
	}
	return line
}

// snapshotSpace is a line of spaces.ndjson.gz.
type snapshotSpace struct {
	ID      string  `json:"id"`
	Name    *string `json:"name"`
	Network *string `json:"network"`
	Symbol  *string `json:"symbol"`
}

// spaceLine describes one of the DAO's spaces. Some spaces lack fields.
func (d *dao) spaceLine(id string) snapshotSpace {
	line := snapshotSpace{ID: id, Symbol: &d.symbol}
	if d.index%9 != 7 {
		line.Name = &d.name
	}
	if network := "1"; d.index%3 == 0 {
		line.Network = &network
	}
	return line
}

// tallyOrganization is a line of organizations.ndjson.gz.
type tallyOrganization struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Slug string `json:"slug"`
}
