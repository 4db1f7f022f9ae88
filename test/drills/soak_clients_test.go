package drills

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"pnyx/test/histories"
)

const (
	// tool is a call of a tool by an agent, and stream a page of changes that was sent.
	tool   histories.Kind = "tool"
	stream histories.Kind = "stream"

	// toolCall calls a tool with the DAO of the vote.
	toolCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_dao","arguments":{"daoId":"` + pollDAO + `"},` +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
)

// rarely makes a client of one that does as much in seconds as in hours: it waits after each time.
func rarely(client historyClient, after time.Duration) historyClient {
	return func(r *historyRun, random *rand.Rand, n int) {
		client(r, random, n)
		wait(r.ctx, after)
	}
}

// buyAndForget buys, and forgets payments of which nothing came: they would use up a payer's bucket.
func buyAndForget(r *historyRun, random *rand.Rand, client int) {
	const most = 5
	r.buyer.buy(r, random, client)
	if b := r.buyer; len(b.pending) > most {
		old := slices.DeleteFunc(slices.Clone(b.pending[:len(b.pending)-most]), func(p *historyPayment) bool { return !charged(r.ledger, p.nonce) })
		b.pending = append(old, b.pending[len(b.pending)-most:]...)
	}
}

// callTool calls a tool as an agent does.
func callTool(r *historyRun, random *rand.Rand, client int) {
	o := histories.Operation{Kind: tool, Client: client}
	var base string
	o.Node, base = r.choose(random)
	end := r.recorder.Begin(o)
	request, err := http.NewRequestWithContext(r.ctx, http.MethodPost, base+"/mcp", strings.NewReader(toolCall))
	if err != nil {
		panic(err)
	}
	request.Header = http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"get_dao"},
		http.CanonicalHeaderKey(tokenHeader): {r.dataset.token},
	}
	response, err := callers.Do(request)
	if err != nil {
		end(func(*histories.Operation) {}) // a fault, or the end
		return
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	end(func(o *histories.Operation) {
		if err != nil {
			return
		}
		o.Status = response.StatusCode
		o.Code, o.Wrong = toolOutcome(r, o.Status, text)
	})
	wait(r.ctx, time.Duration(random.Int64N(int64(4*maxThink))))
}

// toolOutcome returns the code of an error, or what is wrong with an answer.
func toolOutcome(r *historyRun, status int, text []byte) (code, problem string) {
	var answer struct {
		Error  *struct{ Message string }
		Result *struct {
			IsError           bool
			StructuredContent struct {
				Data  struct{ DAO json.RawMessage }
				Error *struct{ Code string }
			}
		}
	}
	switch err := json.Unmarshal(text, &answer); {
	case status >= http.StatusInternalServerError:
		return fmt.Sprint("tool ", status), ""
	case err != nil || answer.Result == nil:
		return "", fmt.Sprintf("tool: %d %v %.300s", status, err, text)
	case answer.Result.IsError && answer.Result.StructuredContent.Error != nil:
		return answer.Result.StructuredContent.Error.Code, ""
	case answer.Result.IsError:
		return "tool_error", ""
	}
	casts, err := readParticipation(answer.Result.StructuredContent.Data.DAO)
	if err == nil && casts > r.poll.casts()+1 {
		err = fmt.Errorf("it shows %d casts of %d", casts, r.poll.casts())
	}
	if err != nil {
		return "", fmt.Sprintf("tool: %v %.300s", err, text)
	}
	return "", ""
}

// listener has the changes streamed to it, and resumes when a stream ends.
type listener struct{ last string }

// listen reads a stream of changes to its end.
func (l *listener) listen(r *historyRun, random *rand.Rand, client int) {
	_, base := r.choose(random)
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/v2/changes", http.NoBody)
	if err != nil {
		panic(err)
	}
	request.Header = http.Header{"Accept": {"text/event-stream"}, http.CanonicalHeaderKey(tokenHeader): {r.dataset.token}}
	if l.last != "" {
		request.Header.Set("Last-Event-ID", l.last)
	}
	response, err := (&http.Client{Transport: callers.Transport}).Do(request)
	if err != nil {
		wait(r.ctx, time.Second)
		return
	}
	defer response.Body.Close()
	o := histories.Operation{Kind: stream, Client: client, Status: response.StatusCode}
	if response.StatusCode == http.StatusGone {
		l.last = "" // what it followed is gone: it begins anew
	}
	if response.StatusCode != http.StatusOK {
		o.Code = fmt.Sprint("stream ", response.StatusCode)
		r.recorder.Add(o)
		wait(r.ctx, time.Second)
		return
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		if id, is := strings.CutPrefix(lines.Text(), "id: "); is {
			l.last = id
			r.recorder.Add(o)
		}
	}
}
