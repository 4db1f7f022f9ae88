package demo

import "strings"

// Years that a DAO may be old.
const (
	youngest = 200 * day
	oldest   = 4 * 365 * day
)

const (
	minute = 60
	hour   = 60 * minute
	day    = 24 * hour
)

// delegateDAOs is in how many DAOs the most active voter takes part, and
// delegateVotes how often at the most in each.
const (
	delegateDAOs  = 40
	delegateVotes = 50
)

// dao is an invented organization and the state of its history while it is
// written.
type dao struct {
	index int
	key   uint64
	slug  string
	// root is the short form of name.
	root, name, symbol string
	// code numbers its proposals ("BRIP-12"); not all DAOs do that.
	code     string
	headings headings
	// spaces are its Snapshot spaces, organization its slug at Tally, forum its host.
	spaces       []string
	organization string
	forum        string
	// unclaimed says that daos.ndjson does not list its source.
	unclaimed bool
	// memberships says that voting power is a small integer.
	memberships bool
	// age and duration are in seconds; a vote lasts duration.
	age, duration int64
	// stretch is the least number of people of the shared pool to a seat.
	stretch uint64
	// turnout is the least number of ranks to a ballot: the more proposals, the
	// fewer of them even the most active member votes on.
	turnout uint64

	// delegated counts the ballots of the most active voter.
	delegated int
	// topics numbers the forum's topics.
	topics int
	// voted is the last proposal accepted off chain, which an on-chain one may carry
	// out.
	voted *proposal
}

// roots returns how many short names there are.
func (n nouns) roots() int {
	return len(n.rootHeads) * len(n.rootTails)
}

// root returns a short name.
func (n nouns) root(i int) string {
	return n.rootHeads[i%len(n.rootHeads)] + n.rootTails[i/len(n.rootHeads)%len(n.rootTails)]
}

// names returns how many DAOs can have a name of their own.
func (n nouns) names() int {
	return n.roots() * len(n.kinds)
}

// newDAO makes up the DAO of an index out of all.
func (v vocabulary) newDAO(o Options, d dice, index, proposals int) *dao {
	key := keyOf(o.Seed, forDAO, natural(index))
	d.seed(key)
	dao := &dao{
		index: index, key: key, headings: headingsOf(d.IntN(3)), topics: 6 + d.IntN(20),
		memberships: index%7 == 5,
		age:         youngest + d.Int64N(oldest-youngest),
		duration:    int64(d.between(3, 7) * day),
		stretch:     natural(max(o.DAOs/12, 1)),
		turnout:     natural(1 + proposals/800),
	}
	v.nouns.christen(d, dao, o.Seed)
	d.seed(keyOf(key, forKind))
	if d.roll(2) {
		dao.code = dao.symbol[:2] + "IP"
	}
	dao.settle(o.DAOs)
	return dao
}

// christen gives a DAO a name that no other one has. Short names are used up
// before one occurs again with another kind.
func (n nouns) christen(d dice, dao *dao, seed uint64) {
	const step = 1187 // a prime, so that each root comes up once in a round
	d.seed(keyOf(seed, forName))
	root := (d.IntN(n.roots()) + dao.index*step) % n.roots()
	d.seed(keyOf(seed, forName), root)
	round := dao.index / n.roots()
	kind := n.kinds[(d.IntN(len(n.kinds))+round)%len(n.kinds)]
	dao.root = n.root(root)
	dao.name = dao.root + " " + kind
	dao.symbol = strings.ToUpper(dao.root[:3+root%2])
	dao.slug = strings.ToLower(dao.root)
	if round > 0 {
		dao.slug += "-" + strings.ToLower(kind)
	}
}

// settle gives a DAO its sources: all kinds to the first, and one of each kind
// that nobody claims to the last ones.
func (d *dao) settle(daos int) {
	switch fromEnd := daos - 1 - d.index; {
	case fromEnd == 0 && daos >= 3:
		d.unclaimed = true
		d.spaces = []string{d.slug + ".eth"}
		return
	case fromEnd == 1 && daos >= 8:
		d.unclaimed = true
		d.organization = d.slug
		return
	}
	if onChain := d.index%16 == 6; onChain {
		d.organization = d.slug
	} else {
		spellings := []string{d.slug + ".eth", d.slug + "dao.eth", "gov." + d.slug + ".eth", d.slug + "gov.eth"}
		d.spaces = []string{spellings[d.index%len(spellings)]}
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

// hybrid says whether the DAO votes both off and on chain.
func (d *dao) hybrid() bool {
	return len(d.spaces) > 0 && d.organization != ""
}

// onChain says whether a proposal is voted on chain: in a hybrid DAO every third.
func (d *dao) onChain(index int) bool {
	return len(d.spaces) == 0 || d.organization != "" && index%3 == 2
}

// claim is a line of daos.ndjson.
type claim struct {
	ID      string   `json:"daoId"`
	Name    string   `json:"name"`
	Sources []source `json:"sources"`
}

type source struct {
	Provider string `json:"provider"`
	ID       string `json:"id"`
}

// claim lists the sources of the DAO.
func (d *dao) claim() claim {
	c := claim{ID: d.slug, Name: d.name}
	for _, space := range d.spaces {
		c.Sources = append(c.Sources, source{"snapshot", space})
	}
	if d.organization != "" {
		c.Sources = append(c.Sources, source{"tally", d.organization})
	}
	if d.forum != "" {
		c.Sources = append(c.Sources, source{"discourse", d.forum})
	}
	return c
}

// snapshotSpace is a line of spaces.ndjson.gz.
type snapshotSpace struct {
	ID      string  `json:"id"`
	Name    *string `json:"name"`
	Network *string `json:"network"`
	Symbol  *string `json:"symbol"`
}

// space describes one of the DAO's spaces; some leave their fields empty.
func (d *dao) space(id string) snapshotSpace {
	s := snapshotSpace{ID: id, Symbol: &d.symbol}
	if d.index%9 != 7 {
		s.Name = &d.name
	}
	if network := "1"; d.index%3 == 0 {
		s.Network = &network
	}
	return s
}

// tallyOrganization is a line of organizations.ndjson.gz.
type tallyOrganization struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Slug string `json:"slug"`
}
