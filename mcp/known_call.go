package mcp

import (
	"bytes"
	"errors"
	"slices"
	"sync"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/utils"
	"github.com/maypok86/otter/v2"

	"pnyx/api"
)

// maxKnownBytes bounds the estimated size of what is known of calls, in bytes.
const maxKnownBytes = 8 << 20

// knownOverhead is the estimated memory of a knownCall without its texts, in bytes.
const knownOverhead = 2 << 10

// errKnown says that the result of a call is the text of a knownCall.
var errKnown = errors.New("the result is known")

// knownCall is what was found out about a call that was answered with data: another one with
// the same key means the same, and has the same result while its reads have the same answers.
// It is immutable.
type knownCall struct {
	era  string
	tool *tool
	// args and purchase are those of call.
	args     map[string]string
	purchase api.Purchase
	// reads are the reads of the call, and answers are theirs; nil where the result is not made
	// of them alone.
	reads   []api.ParsedRead
	answers []api.Answer
	// The members of the result: before, the beginning of meta as text, between, the same as
	// structure, and after.
	before, between, after []byte
}

// knownCalls holds what is known of calls, by callKey. A flood of distinct calls does not
// evict those that come more often.
type knownCalls struct {
	calls *otter.Cache[string, *knownCall]
}

func newKnownCalls() knownCalls {
	return knownCalls{otter.Must(&otter.Options[string, *knownCall]{
		MaximumWeight: maxKnownBytes,
		Weigher: func(key string, k *knownCall) uint32 {
			size := knownOverhead + 3*len(key) + len(k.before) + len(k.between) + len(k.after)
			for _, answer := range k.answers {
				size += len(answer.Data)
			}
			return uint32(size) //nolint:gosec // bounded by the longest page
		},
	})}
}

// callKey identifies a call: it is all of the request that a call depends on, but for the id
// of the message and what its reads check themselves, such as credentials.
type callKey struct {
	// text is the key, without id: the body up to it and after it, and the headers of the
	// protocol. No part of a valid request has the zero byte that separates them.
	text []byte
	// id is the text of the id in the body, which is otherwise the same for all calls with
	// the key. It is empty where none was found, or not a plain one.
	id []byte
	// at is where the id begins in the body.
	at int
}

// callKeys holds keys that are not in use.
//
//nolint:gochecknoglobals // a pool is a cache of memory
var callKeys = sync.Pool{New: func() any { return new(callKey) }}

// set reads the key of a request.
func (k *callKey) set(c *fiber.Ctx, body []byte) {
	k.text, k.id = k.text[:0], nil
	const name = `"id":`
	k.at = bytes.Index(body, []byte(name))
	if k.at < 0 {
		return
	}
	k.at = space(body, k.at+len(name))
	k.id = plainID(body[k.at:])
	k.text = append(append(append(k.text, body[:k.at]...), 0), body[k.at+len(k.id):]...)
	for _, header := range [...]string{HeaderVersion, HeaderMethod, HeaderName} {
		k.text = append(append(k.text, 0), c.Request().Header.Peek(header)...)
	}
}

// maxPlainID bounds a plain id, in bytes.
const maxPlainID = 64

// plainID returns the id that a text begins with: a string without escapes, or a number of
// digits. It is empty for any other text.
func plainID(text []byte) []byte {
	text = text[:min(len(text), maxPlainID)]
	if len(text) == 0 {
		return nil
	}
	if text[0] == '"' {
		for i, char := range text[1:] {
			switch {
			case char == '"':
				return text[:i+2]
			case char < ' ' || char > '~' || char == '\\':
				return nil
			}
		}
		return nil
	}
	end := 0
	for end < len(text) && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	if end > 1 && text[0] == '0' {
		return nil
	}
	return text[:end]
}

// find returns what is known of a call; nil for nothing.
func (k knownCalls) find(key *callKey) *knownCall {
	if len(key.id) == 0 {
		return nil
	}
	known, _ := k.calls.GetIfPresent(utils.UnsafeString(key.text))
	return known
}

// learn keeps what was found out about a call, if another one with the key can only differ
// from it in its id.
func (k knownCalls) learn(key *callKey, body []byte, c *call) {
	if len(key.id) == 0 || c.learned == nil {
		return
	}
	if c.known == nil {
		const other = "70951"
		m, failed := parse(slices.Concat(body[:key.at], []byte(other), body[key.at+len(key.id):]))
		if failed != nil || string(m.ID) != other {
			return // what was found is not the id of the message
		}
	}
	k.calls.Set(string(key.text), c.learned)
}

// learnResult keeps what was found out about the call, which was answered with data. Nothing
// is kept of a call that means something else at another time or for another caller.
func (c *call) learnResult(era string, structured []byte) {
	if c.window != "" || c.payment != "" || c.tool.personal || len(c.parsed) == 0 {
		return
	}
	several := c.reader.HasMore()
	if several && c.known != nil {
		return // there is nothing new to keep
	}
	k := &knownCall{era: era, tool: c.tool, args: c.parsedArgs, purchase: c.purchase, reads: c.parsed}
	c.learned = k
	if several {
		return
	}
	data, tail := structured[:c.metaAt], structured[c.metaAt+len(c.answered[0].Meta.AppendRequest(nil)):]
	k.answers = slices.Clone(c.answered)
	k.before = appendEscaped([]byte(`"content":[{"type":"text","text":"`), data)
	k.between = append(append(appendEscaped(nil, tail), `"}],"structuredContent":`...), data...)
	k.after = tail
}

// isResultOf reports whether the answers are those that the result was made of.
func (k *knownCall) isResultOf(answers []api.Answer) bool {
	return len(k.answers) > 0 && slices.EqualFunc(k.answers, answers, api.Answer.Same)
}

// append appends the members of the result. request is the beginning of its meta.
func (k *knownCall) append(text, request []byte) []byte {
	text = slices.Grow(text, len(k.before)+len(k.between)+len(k.after)+3*len(request))
	text = appendEscaped(append(text, k.before...), request)
	text = append(append(text, k.between...), request...)
	return append(text, k.after...)
}
