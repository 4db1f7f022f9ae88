package drills

import (
	"math"
	"slices"
	"testing"
	"time"
)

// minJudged is the number of minutes in a row below which nothing is said of growth.
const minJudged = 6

// point is what a gauge showed in a minute.
type point struct {
	minute, value float64
	// life names what the value belongs to: a process that was started again has another.
	life string
	// things and ballots were added to the data by then.
	things, ballots float64
}

// bound is the growth that is allowed: a share of what there was, or units, and so many for each added.
type bound struct{ share, room, perThing, perBallot float64 }

// growth is how much a gauge grew in the second half of its longest life.
type growth struct {
	// from is what it was in the middle of that life, by is what was added after.
	from, by, allowed float64
	// minutes is the length of that half; 0 if it is too short to tell.
	minutes float64
}

func (g growth) isTooMuch() bool { return g.minutes > 0 && g.by > g.allowed }

// growthOf is the median of the slopes between any two minutes, which a few odd ones do not change.
func growthOf(points []point, b bound) growth {
	life := longestLife(points)
	half := life[len(life)/2:]
	if len(half) < minJudged/2 || len(life) < minJudged {
		return growth{}
	}
	var slopes, values []float64
	for i, p := range half {
		values = append(values, p.value)
		for _, q := range half[i+1:] {
			slopes = append(slopes, (q.value-p.value)/(q.minute-p.minute))
		}
	}
	first, last := half[0], half[len(half)-1]
	g := growth{minutes: last.minute - first.minute}
	g.by = median(slopes) * g.minutes
	g.from = median(values) - g.by/2
	g.allowed = max(b.share*math.Abs(g.from), b.room) +
		b.perThing*(last.things-first.things) + b.perBallot*(last.ballots-first.ballots)
	return g
}

// longestLife returns the points of the life that has the most.
func longestLife(points []point) (longest []point) {
	for from := 0; from < len(points); {
		to := from
		for to < len(points) && points[to].life == points[from].life {
			to++
		}
		if to-from > len(longest) {
			longest = points[from:to]
		}
		from = to
	}
	return longest
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

func TestGrowthIsFoundAndWhatIsNoneIsNot(t *testing.T) {
	t.Parallel()
	const hour = 60
	series := func(value func(minute float64) point) (points []point) {
		for minute := range hour {
			p := value(float64(minute))
			p.minute = float64(minute)
			points = append(points, p)
		}
		return points
	}
	noise := func(minute float64) float64 { return float64(int(minute*7) % 5) }
	for name, test := range map[string]struct {
		points []point
		bound  bound
		want   bool
	}{
		"noise": {series(func(m float64) point { return point{value: 100 + noise(m)} }), bound{room: 10}, false},
		"a start that rises and then stays": {
			series(func(m float64) point { return point{value: min(100, 20*m)} }), bound{room: 10}, false,
		},
		"a leak":                  {series(func(m float64) point { return point{value: 100 + noise(m) + m} }), bound{room: 10}, true},
		"a leak within its share": {series(func(m float64) point { return point{value: 1000 + m} }), bound{share: 0.1}, false},
		"what the data explains": {
			series(func(m float64) point { return point{value: 100 + m, things: 10 * m} }), bound{room: 1, perThing: 0.2}, false,
		},
		"more than the data explains": {
			series(func(m float64) point { return point{value: 100 + m, ballots: 10 * m} }), bound{room: 1, perBallot: 0.05}, true,
		},
		"minutes in which everything was empty": {
			series(func(m float64) point { return point{value: 100 * min(1, float64(int(m)%8))} }), bound{room: 10}, false,
		},
		"a leak of a process that was killed near the end": {
			series(func(m float64) point {
				if m > 50 {
					return point{value: 100, life: "second"}
				}
				return point{value: 100 + m, life: "first"}
			}), bound{room: 10}, true,
		},
		"too short to tell": {series(func(m float64) point { return point{value: m} })[:minJudged-1], bound{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := growthOf(test.points, test.bound); got.isTooMuch() != test.want {
				t.Errorf("got %+v, too much: %t, want %t", got, got.isTooMuch(), test.want)
			}
		})
	}
}

// tenths of minutes keep a short run from having one point only.
const soakPoints = 20

// pointInterval is the time between two points of a run: a minute, and less in a short one.
func pointInterval(lasts time.Duration) time.Duration {
	return min(time.Minute, lasts/soakPoints)
}
