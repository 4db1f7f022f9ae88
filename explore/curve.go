package explore

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"pnyx/governance"
)

const (
	// curveColumns is how many moments of the voting the curve is drawn at.
	curveColumns = 240
	// curveRows is how many of those moments the table has, after the beginning.
	curveRows = 10
	// curveChoices is how many choices have a line of their own; the others share one.
	curveChoices = 5
)

// curve is the power of each choice while the voting went on.
type curve struct {
	// Lines are the choices with the most power among the ballots, and one of all others.
	Lines []line
	// Counted is the power that counts towards the quorum; nil where no quorum is known.
	Counted *line
	// Quorum is the power that is needed; empty where it is not known.
	Quorum  governance.Decimal
	QuorumY string
	// Top is the power at the upper edge.
	Top governance.Decimal
	// From and To are the edges of the time, and Drawn where the lines end.
	From, To, Drawn governance.Timestamp
	// Stated says that the edges are the times of the voting, not of its ballots.
	Stated bool
	// Ballots is how many ballots the lines are made of, Power their power, and Share its part of all.
	Ballots int
	Power   governance.Decimal
	Share   string
	// Missing says that there are ballots upstream that are not held.
	Missing bool
	Whole   bool
	// Undated is how many further ballots were read whose time is unknown.
	Undated int
	// Rows are the values of all lines at some moments.
	Rows []curveRow
}

type line struct {
	Label, Class string
	Path         string

	key string
	// sums holds the power after each column.
	sums []decimal.Decimal
}

type curveRow struct {
	At governance.Timestamp
	// Values are in the order of the lines, the value of Counted last.
	Values []governance.Decimal
}

type curveInput struct {
	proposal governance.ProposalDetail
	summary  governance.VoteSummary
	ballots  []governance.Ballot
	// whole says that these are all.
	whole bool
	// asOf is the time of the data, at which the lines of a vote under way end.
	asOf governance.Timestamp
}

// Width and height of the drawing, in its own units.
const (
	curveWidth  = 960
	curveHeight = 300
)

// severalKey stands for ballots without a single choice, otherKey for choices without a line. No choice has either.
const (
	severalKey = "\x00several"
	otherKey   = "\x00other"
)

// newCurve returns the curve of a vote; nil where no ballot has a time.
func newCurve(in curveInput) *curve {
	dated := slices.DeleteFunc(slices.Clone(in.ballots), func(b governance.Ballot) bool { return b.VotedAt == nil })
	if len(dated) == 0 {
		return nil
	}
	slices.SortFunc(dated, func(a, b governance.Ballot) int { return cmp.Compare(*a.VotedAt, *b.VotedAt) })
	c := &curve{Ballots: len(dated), Whole: in.whole, Undated: len(in.ballots) - len(dated)}
	c.setTimes(in, dated)
	columns, power := c.columns(dated)
	c.Power = governance.DecimalOf(power)
	if in.summary.Totals != nil {
		c.Share = percent(power, number(in.summary.Totals.VotingPower))
	}
	c.Missing = in.summary.CoverageStatus != governance.Complete
	c.setLines(in, columns)
	c.setQuorum(in, columns)
	c.draw()
	return c
}

// setTimes sets the edges: the times of the voting, or of its ballots where it states none.
func (c *curve) setTimes(in curveInput, dated []governance.Ballot) {
	first, last := dated[0].VotedAt, dated[len(dated)-1].VotedAt
	c.From = *cmp.Or(in.proposal.StartAt, first)
	c.To = max(*cmp.Or(in.proposal.EndAt, last), c.From+1)
	c.Stated = in.proposal.StartAt != nil && in.proposal.EndAt != nil
	c.Drawn = c.To
	if in.proposal.LifecycleStatus == governance.Active {
		c.Drawn = max(c.From, min(c.To, max(in.asOf, *last)))
	}
}

// column returns the column of a moment, the first or last for one outside of the stated times.
func (c *curve) column(at governance.Timestamp) int {
	column := (int64(at) - int64(c.From)) * curveColumns / (int64(c.To) - int64(c.From))
	return int(max(0, min(column, curveColumns-1)))
}

func (c *curve) columns(dated []governance.Ballot) (byChoice map[string][]decimal.Decimal, all decimal.Decimal) {
	byChoice = map[string][]decimal.Decimal{}
	for _, ballot := range dated {
		key := severalKey
		if ballot.ChoiceKey != nil {
			key = *ballot.ChoiceKey
		}
		if byChoice[key] == nil {
			byChoice[key] = make([]decimal.Decimal, curveColumns)
		}
		column, power := c.column(*ballot.VotedAt), number(ballot.VotingPower)
		byChoice[key][column] = byChoice[key][column].Add(power)
		all = all.Add(power)
	}
	return byChoice, all
}

// setLines sets a line for each of the choices with the most power, and for the rest.
func (c *curve) setLines(in curveInput, columns map[string][]decimal.Decimal) {
	labels := map[string]string{severalKey: "several choices", otherKey: "all other choices"}
	for _, choice := range in.summary.Choices {
		labels[choice.Key] = choice.Label
	}
	for key, sums := range columns {
		c.Lines = append(c.Lines, line{key: key, Label: cmp.Or(labels[key], "choice "+key), sums: runningSums(sums)})
	}
	slices.SortFunc(c.Lines, func(a, b line) int {
		return cmp.Or(b.final().Cmp(a.final()), governance.CompareChoiceKeys(a.key, b.key))
	})
	if len(c.Lines) > curveChoices+1 {
		rest := line{key: otherKey, Label: labels[otherKey], sums: make([]decimal.Decimal, curveColumns)}
		for _, one := range c.Lines[curveChoices:] {
			for i, sum := range one.sums {
				rest.sums[i] = rest.sums[i].Add(sum)
			}
		}
		c.Lines = append(c.Lines[:curveChoices:curveChoices], rest)
	}
	for i := range c.Lines {
		c.Lines[i].Class = "s" + strconv.Itoa(i+1)
	}
}

// runningSums returns the sum up to each element, that element included.
func runningSums(values []decimal.Decimal) []decimal.Decimal {
	sums, sum := make([]decimal.Decimal, len(values)), decimal.Zero
	for i, value := range values {
		sum = sum.Add(value)
		sums[i] = sum
	}
	return sums
}

func (l line) final() decimal.Decimal { return l.sums[len(l.sums)-1] }

// setQuorum sets the line of the quorum and of the power that counts towards it.
func (c *curve) setQuorum(in curveInput, columns map[string][]decimal.Decimal) {
	needed, choices, known := quorumOf(in.proposal, in.summary)
	if !known {
		return
	}
	c.Quorum = governance.DecimalOf(needed)
	counted := line{Label: "counted towards the quorum", Class: "counted", sums: make([]decimal.Decimal, curveColumns)}
	for key, sums := range columns {
		if choices == nil || slices.Contains(choices, key) {
			for i, sum := range runningSums(sums) {
				counted.sums[i] = counted.sums[i].Add(sum)
			}
		}
	}
	c.Counted = &counted
}

// quorumOf returns the power that a vote needs, and the keys of the choices that count towards it, nil for all.
// The power is known if it gives the progress that the API states: some contracts have a rule or a unit of their
// own.
func quorumOf(proposal governance.ProposalDetail, summary governance.VoteSummary) (decimal.Decimal, []string, bool) {
	if summary.Quorum == nil || summary.Totals == nil {
		return decimal.Zero, nil, false
	}
	provider := proposal.Identity.Provider
	needed, _, err := governance.ParseUnits(summary.Quorum.Raw, governance.PowerScale)
	if !provider.IsOnchain() {
		needed, _, err = governance.ParsePower(summary.Quorum.Raw)
	}
	if err != nil || needed.IsZero() {
		return decimal.Zero, nil, false
	}
	choices := provider.QuorumChoices()
	if summary.Quorum.Type == governance.QuorumOfRejection {
		choices = []string{provider.ChoiceKey(1)}
	}
	counted := governance.QuorumPower(choices, number(summary.Totals.VotingPower), func(key string) decimal.Decimal {
		for _, choice := range summary.Choices {
			if choice.Key == key {
				return number(choice.VotingPower)
			}
		}
		return decimal.Zero
	})
	return needed, choices, governance.QuorumProgress(counted, needed) == summary.Quorum.Progress
}

func (c *curve) draw() {
	lines := c.Lines
	if c.Counted != nil {
		lines = append(slices.Clone(lines), *c.Counted)
	}
	top := number(c.Quorum)
	for _, one := range lines {
		top = decimal.Max(top, one.final())
	}
	c.Top = governance.DecimalOf(top)
	c.QuorumY = coordinate(curveHeight - pixels(number(c.Quorum), top, curveHeight))
	last := c.column(c.Drawn)
	for i := range c.Lines {
		c.Lines[i].draw(top, last)
	}
	if c.Counted != nil {
		c.Counted.draw(top, last)
	}
	for i := 1; i <= curveRows; i++ {
		column := i*curveColumns/curveRows - 1
		if i > 1 && c.Rows[i-2].At >= c.Drawn {
			break
		}
		row := curveRow{At: min(c.Drawn, c.From+(c.To-c.From)*governance.Timestamp(i)/curveRows)}
		for _, one := range lines {
			row.Values = append(row.Values, governance.DecimalOf(one.sums[column]))
		}
		c.Rows = append(c.Rows, row)
	}
}

// draw draws the line as steps, up to a column.
func (l *line) draw(top decimal.Decimal, last int) {
	var path strings.Builder
	height := func(power decimal.Decimal) string { return coordinate(curveHeight - pixels(power, top, curveHeight)) }
	path.WriteString("M0 " + height(decimal.Zero))
	before := decimal.Zero
	for column, sum := range l.sums[:last+1] {
		if sum.Equal(before) {
			continue
		}
		path.WriteString("H" + strconv.Itoa(column*curveWidth/curveColumns) + "V" + height(sum))
		before = sum
	}
	path.WriteString("H" + strconv.Itoa((last+1)*curveWidth/curveColumns))
	l.Path = path.String()
}

// coordinate writes a place in a drawing, to a tenth of its unit.
func coordinate(at float64) string { return strconv.FormatFloat(at, 'f', 1, 64) }
