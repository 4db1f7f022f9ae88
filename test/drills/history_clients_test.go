package drills

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"pnyx/test/histories"
)

const walkLimit = 7

// request sends a request and records it. Check reads the answer, and reports what is wrong. Statuses other than
// 200, 304, 429, 503 and those given are wrong.
func (r *historyRun) request(o histories.Operation, base string, headers map[string]string,
	check func(*reply, *histories.Operation) error, statuses ...int,
) (answer reply) {
	end := r.recorder.Begin(o)
	answer = ask(base+o.Path, headers)
	end(func(o *histories.Operation) {
		if answer.transport != nil || answer.err != nil && answer.status >= http.StatusInternalServerError && o.Node == "" {
			return // nobody knows; what is in front has errors of its own
		}
		o.Status = answer.status
		var err error
		switch {
		case o.Status == http.StatusNotModified:
		case answer.err == nil && answer.Error != nil:
			o.Code = answer.Error.Code
			err = answer.dishonest(true)
			if err == nil && !slices.Contains(append(statuses, http.StatusTooManyRequests, http.StatusServiceUnavailable), o.Status) {
				err = errors.New("an answer is due: " + answer.Error.Message)
			}
		default:
			o.ETag, o.Body = answer.header.Get("Etag"), bodyOf(&answer)
			if err = check(&answer, o); err == nil && !answer.isFile() {
				err = answer.dishonest(true)
				o.AsOf = append(o.AsOf, answer.Meta.DataAsOf.Time().UnixMilli())
			}
		}
		if err != nil {
			o.Wrong = fmt.Sprintf("%v: %.300s", err, answer.text)
		}
	})
	return answer
}

// bodyOf hashes what an ETag has to name: everything but what differs between requests.
func bodyOf(a *reply) string {
	hash := fnv.New64a()
	if a.isFile() {
		fmt.Fprint(hash, a.text)
	} else {
		page, _ := json.Marshal(a.Meta.Page) // it was decoded
		fmt.Fprintf(hash, "%s %s %s", a.Data, a.Meta.Readiness.Status, page)
	}
	return strconv.FormatUint(hash.Sum64(), 36)
}

// isFile reports whether an answer is a part of an export.
func (r *reply) isFile() bool {
	return strings.HasPrefix(r.header.Get("Content-Type"), "application/x-ndjson")
}

// cast imports the next ballot of the vote until it succeeds, and sometimes a proposal.
func cast(r *historyRun, _ *rand.Rand, client int) {
	if cast := r.poll.started; cast%proposeInterval == 0 {
		for r.importLine(proposal(cast)) != nil && wait(r.ctx, importInterval/4) { //nolint:revive // until it succeeds
		}
	}
	line := r.poll.next()
	end := r.recorder.Begin(histories.Operation{Kind: histories.Import, Client: client, Casts: r.poll.started - 1})
	err := r.importLine(line)
	for err != nil && wait(r.ctx, importInterval/4) {
		err = r.importLine(line)
	}
	end(func(o *histories.Operation) {
		if err == nil {
			o.Status = http.StatusOK
		}
	})
	if err == nil {
		r.poll.done()
		wait(r.ctx, importInterval/2)
	}
}

// ofVote reads how many ballots an answer about the vote shows.
func (r *historyRun) ofVote(q pollQuestion) func(*reply, *histories.Operation) error {
	return func(a *reply, o *histories.Operation) (err error) {
		if o.Casts, err = q.read(a.Data); err != nil {
			return err
		}
		return r.poll.plausible(o.Casts, a)
	}
}

// read asks for something: the vote in half of all cases.
func read(r *historyRun, random *rand.Rand, client int) {
	o := histories.Operation{Kind: histories.Request, Client: client}
	var base string
	o.Node, base = r.choose(random)
	if random.IntN(2) == 0 {
		questions := r.poll.questions()
		q := questions[random.IntN(len(questions))]
		o.Path = q.path
		r.request(o, base, r.dataset.headers(), r.ofVote(q))
		return
	}
	all := [][]question{r.dataset.free, r.dataset.paid, r.dataset.cold}[random.IntN(3)]
	q := all[random.IntN(len(all))]
	if r.live != nil && strings.HasPrefix(q.path, "/v2/daos?") {
		return // the followed DAO is among them
	}
	o.Path = q.path
	r.request(o, base, r.dataset.headers(), func(a *reply, _ *histories.Operation) error { return q.check(a) })
}

// walk reads the ballots of the vote to the end, from one place.
func walk(r *historyRun, random *rand.Rand, client int) {
	o := histories.Operation{Kind: histories.Walk, Client: client, Status: http.StatusOK}
	var base string
	o.Node, base = r.choose(random)
	path := fmt.Sprintf("/v2/proposals/%s/votes?order=time&limit=%d", r.poll.key, walkLimit)
	end := r.recorder.Begin(o)
	var rows []int
	var asOf []int64
	for cursor, tries := "", 0; ; {
		at := path
		if cursor != "" {
			at += "&cursor=" + url.QueryEscape(cursor)
		}
		page := histories.Operation{Kind: histories.Request, Client: client, Node: o.Node, Path: at}
		a := r.request(page, base, r.dataset.headers(), func(*reply, *histories.Operation) error { return nil })
		if a.transport != nil || a.status != http.StatusOK || a.Meta.Page == nil {
			if tries++; tries > 20 || !wait(r.ctx, time.Second/4) {
				return
			}
			continue
		}
		casts, err := castsIn(a.Data)
		rows, asOf = append(rows, casts...), append(asOf, a.Meta.DataAsOf.Time().UnixMilli())
		if a.Meta.Page.NextCursor == nil || err != nil {
			end(func(o *histories.Operation) {
				o.Rows, o.AsOf = rows, asOf
				if err != nil {
					o.Wrong = err.Error()
				}
			})
			return
		}
		cursor = *a.Meta.Page.NextCursor
		wait(r.ctx, time.Duration(random.Int64N(int64(2*maxThink))))
	}
}

type ballotRow struct{ VoteID string }

// castsIn returns the numbers of the ballots of a page.
func castsIn(data []byte) (casts []int, err error) {
	var rows []ballotRow
	if err := json.Unmarshal(data, &rows); err != nil {
		return nil, err
	}
	for _, row := range rows {
		n, err := strconv.Atoi(strings.TrimPrefix(row.VoteID, "cast-"))
		if err != nil {
			return nil, err
		}
		casts = append(casts, n)
	}
	return casts, nil
}

// export reads the manifest of the vote, and then its parts, of which each may be gone.
func export(r *historyRun, random *rand.Rand, client int) {
	wait(r.ctx, time.Duration(random.Int64N(int64(8*maxThink))))
	var manifest struct {
		Parts []struct{ Href string }
	}
	_, base := r.choose(random)
	a := ask(fmt.Sprintf("%s/v2/proposals/%s/votes/export", base, r.poll.key), r.dataset.headers())
	if a.transport != nil || a.status != http.StatusOK || json.Unmarshal(a.Data, &manifest) != nil {
		return
	}
	for _, part := range manifest.Parts {
		for range 1 + random.IntN(3) {
			wait(r.ctx, time.Duration(random.Int64N(int64(4*maxThink))))
			_, base := r.choose(random)
			o := histories.Operation{Kind: histories.Export, Client: client, Path: part.Href}
			r.request(o, base, r.dataset.headers(), func(a *reply, o *histories.Operation) (err error) {
				o.Rows, err = castsIn([]byte("[" + strings.ReplaceAll(strings.TrimSpace(a.text), "\n", ",") + "]"))
				return err
			}, http.StatusGone)
		}
	}
}
