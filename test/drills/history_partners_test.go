package drills

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"pnyx/test/env"
	"pnyx/test/histories"
)

const (
	// maxTokens is how many tokens are in use at a time.
	maxTokens = 3
	// adminThink bounds the time between two commands on tokens.
	adminThink = 4 * time.Second
)

// partners have tokens that are issued, rotated and revoked, and whose months are used up.
type partners struct {
	mu     sync.Mutex
	tokens []*historyToken
}

// historyToken is a token with all the secrets that it ever had.
type historyToken struct {
	id      string
	limit   int
	secrets []string
	// revoked tokens are not changed any more; of unclear ones the command failed.
	revoked, unclear bool
}

func (p *partners) administer(r *historyRun, random *rand.Rand, client int) {
	p.mu.Lock()
	var live []*historyToken
	for _, token := range p.tokens {
		if !token.revoked {
			live = append(live, token)
		}
	}
	p.mu.Unlock()
	switch choice := random.IntN(4); {
	case len(live) == 0, choice < 2 && len(live) < maxTokens:
		p.issue(r, 10+random.IntN(30), client)
	case choice == 2:
		p.rotate(r, live[random.IntN(len(live))], client)
	case len(live) == maxTokens:
		p.revoke(r, live[random.IntN(len(live))], client)
	}
	wait(r.ctx, time.Duration(random.Int64N(int64(adminThink))))
}

// command runs a command on tokens and records it, with what change notes; printed is nil after a failure.
func (p *partners) command(r *historyRun, o histories.Operation, change func(o *histories.Operation, printed *issuedToken), args ...string) {
	end := r.recorder.Begin(o)
	out, status := env.Run(r.tb, r.environ, append([]string{"token"}, args...)...)
	p.mu.Lock()
	defer p.mu.Unlock()
	end(func(o *histories.Operation) {
		var printed *issuedToken
		if status == 0 {
			o.Status, printed = http.StatusOK, &issuedToken{}
			if o.Kind != histories.Revoke {
				if err := json.Unmarshal([]byte(out[max(0, jsonStart(out)):]), printed); err != nil {
					o.Wrong = fmt.Sprintf("pnyx token %v: %v: %s", args, err, out)
				}
			}
		}
		change(o, printed)
	})
}

type issuedToken struct{ ID, Token string }

// jsonStart finds the line of JSON after log lines.
func jsonStart(out string) int {
	for i := range out {
		if out[i] == '{' && (i == 0 || out[i-1] == '\n') {
			return i
		}
	}
	return 0
}

func (p *partners) issue(r *historyRun, limit, client int) {
	limits := fmt.Sprintf("%d,%d,%d,%d,%d", limit, monthPerMinute, monthBurst, monthPerMinute, monthBurst)
	p.command(r, histories.Operation{Kind: histories.Issue, Client: client, Limit: limit}, func(o *histories.Operation, printed *issuedToken) {
		if printed != nil {
			o.Token = printed.ID
			p.tokens = append(p.tokens, &historyToken{id: printed.ID, limit: limit, secrets: []string{printed.Token}})
		}
	}, "issue", "--name", "history", "--plan", "custom", "--scopes", "v2:paid:*", "--limits", limits, "--json")
}

func (p *partners) rotate(r *historyRun, token *historyToken, client int) {
	o := histories.Operation{Kind: histories.Rotate, Client: client, Token: token.id, Secret: len(token.secrets) - 1}
	p.command(r, o, func(_ *histories.Operation, printed *issuedToken) {
		if printed == nil {
			token.revoked, token.unclear = true, true // it may have a secret that nobody knows
			return
		}
		token.secrets = append(token.secrets, printed.Token)
	}, "rotate", token.id, "--overlap", "0s", "--json")
}

func (p *partners) revoke(r *historyRun, token *historyToken, client int) {
	p.command(r, histories.Operation{Kind: histories.Revoke, Client: client, Token: token.id, Secret: len(token.secrets) - 1},
		func(_ *histories.Operation, printed *issuedToken) {
			token.revoked, token.unclear = true, printed == nil
		}, "revoke", token.id)
}

// use sends a request with a token: mostly with the secret that is valid.
func (p *partners) use(r *historyRun, random *rand.Rand, client int) {
	p.mu.Lock()
	tokens := p.tokens[max(0, len(p.tokens)-maxTokens-2):]
	if len(tokens) == 0 {
		p.mu.Unlock()
		return
	}
	token := tokens[random.IntN(len(tokens))]
	secret := len(token.secrets) - 1
	if random.IntN(5) == 0 {
		secret = random.IntN(len(token.secrets))
	}
	text := token.secrets[secret]
	p.mu.Unlock()
	q := r.poll.questions()[0]
	o := histories.Operation{Kind: histories.Request, Client: client, Path: q.path, Token: token.id, Secret: secret}
	var base string
	o.Node, base = r.choose(random)
	r.request(o, base, withToken(text), r.ofVote(q), http.StatusUnauthorized)
}

// awaitMonths waits until the month of each token has all that was answered before a fault.
func (p *partners) awaitMonths(r *historyRun, before time.Duration) {
	r.tb.Helper()
	answered := map[string]int{}
	history := r.recorder.History()
	for i := range history {
		o := &history[i]
		if o.Kind == histories.Request && o.Token != "" && o.Status == http.StatusOK && o.Return < before && !history.Disturbed(o) {
			answered[o.Token]++
		}
	}
	for _, token := range p.all() {
		secret := token.secrets[len(token.secrets)-1]
		env.Within(r.tb, cmp.Or(r.recovers, recoveryTimeout), func() error {
			var usage struct{ Month struct{ Used string } }
			for _, n := range r.apis {
				a := ask(n.base+"/v2/meta/usage", withToken(secret))
				if a.transport != nil || a.status != http.StatusOK && a.status != http.StatusUnauthorized {
					return fmt.Errorf("usage: %d %w %s", a.status, a.transport, a.text)
				}
				if a.status == http.StatusUnauthorized {
					continue
				}
				if err := json.Unmarshal(a.Data, &usage); err != nil {
					return err
				}
				if used, err := strconv.Atoi(usage.Month.Used); err != nil || used < answered[token.id] {
					return fmt.Errorf("token %s: %d of the month are used (%w), and %d were answered", token.id, used, err, answered[token.id])
				}
			}
			return nil
		})
	}
}

func (p *partners) all() (tokens []historyToken) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, token := range p.tokens {
		tokens = append(tokens, *token)
	}
	return tokens
}

// settle waits until every node accepts the secrets that are valid, and no others.
func (p *partners) settle(r *historyRun) {
	r.tb.Helper()
	for _, token := range p.all() {
		for secret, text := range token.secrets {
			if !token.unclear {
				p.settles(r, token.id, secret, text, !token.revoked && secret == len(token.secrets)-1)
			}
		}
	}
}

// settles waits until every node knows whether a secret is valid, and records that.
func (p *partners) settles(r *historyRun, id string, secret int, text string, valid bool) {
	r.tb.Helper()
	q := r.poll.questions()[0]
	for n, node := range r.apis {
		env.Within(r.tb, recoveryTimeout, func() error {
			o := histories.Operation{Kind: histories.Request, Client: -1, Node: fmt.Sprint("api", n), Path: q.path, Token: id, Secret: secret}
			a := r.request(o, node.base, withToken(text), r.ofVote(q), http.StatusUnauthorized)
			if a.transport != nil || a.status == http.StatusServiceUnavailable || valid == (a.status == http.StatusUnauthorized) {
				return fmt.Errorf("secret %d of token %s, valid: %t: %d %w %s", secret, id, valid, a.status, a.transport, a.text)
			}
			return nil
		})
	}
}
