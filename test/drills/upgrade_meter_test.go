package drills

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"pnyx/test/env"
)

// knows reports whether every node accepts a token.
func (u *upgrade) knows(token string) error {
	for _, n := range u.apis {
		if r := ask(n.base+"/v2/meta/usage", withToken(token)); r.transport != nil || r.status != http.StatusOK {
			return fmt.Errorf("a new token: %d %w %s", r.status, r.transport, r.text)
		}
	}
	return nil
}

// metered waits until what nodes have metered of the load's token is what was sent, and returns the charged.
func (u *upgrade) metered() (charged int) {
	u.tb.Helper()
	requests, answers := u.load.metered()
	want := fmt.Sprint([]int{requests, answers, requests - answers, answers})
	const sums = `
SELECT sum(requests), sum(ok), sum(failed), sum(charged) FROM usage_by_day WHERE route != 'meta.usage' AND token_id = '`
	env.Within(u.tb, readyTimeout, func() error {
		out, err := u.try("sql", "--format", "csv", sums+u.tokenID+"'")
		if err != nil {
			return err
		}
		var said [4]int
		lines := strings.Fields(out)
		if _, err := fmt.Sscanf(lines[len(lines)-1], "%d,%d,%d,%d", &said[0], &said[1], &said[2], &said[3]); err != nil {
			return fmt.Errorf("metered are %s: %w", out, err)
		}
		if got := fmt.Sprint(said); got != want {
			return fmt.Errorf("metered are %s, want %s: requests, answers, failures, and what is charged", got, want)
		}
		return nil
	})
	u.tb.Logf("sent with the token were %d requests, %d of them answered; metered by all four together are just as many", requests, answers)
	return answers
}

// used is how much of its month the load's token has used, as it is told.
func (u *upgrade) used() (used int) {
	u.tb.Helper()
	r := ask(u.apis[0].base+"/v2/meta/usage", withToken(u.load.token))
	var data struct{ Month struct{ Used string } }
	env.MustDo(u.tb, errors.Join(r.transport, json.Unmarshal(r.Data, &data)))
	used = env.Must(strconv.Atoi(data.Month.Used))(u.tb)
	return used
}
