package mcp

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"unicode/utf8"

	"pnyx/api"
	"pnyx/api/apierror"
	"pnyx/api/param"
	"pnyx/api/routes"
)

// maxStructured bounds structuredContent: keys have a token per 2.2 bytes, and clients cut beyond 25,000 tokens.
const maxStructured = 50_000

// metaRoom is kept of it for the envelope: meta, of which a cursor is the longest part.
const metaRoom = param.MaxCursorBytes + 1<<10

// shape is which members of an object are kept: by key, all of the value for nil.
type shape map[string]shape

// of returns an object with the members that are kept, and any other value as it is.
func (s shape) of(value []byte) []byte {
	if s == nil || !bytes.HasPrefix(value, []byte("{")) {
		return value
	}
	var kept object
	for key, member := range members(value) {
		if inner, keeps := s[key]; keeps {
			kept.add(key, inner.of(member))
		}
	}
	return kept.end()
}

func (s shape) fit(rows []json.RawMessage, room int) (array []byte, count int) {
	array = []byte{'['}
	for count, row := range rows {
		end := len(array)
		if count > 0 {
			array = append(array, ',')
		}
		array = append(array, s.of(row)...)
		if len(array)+1 > room {
			return append(array[:end], ']'), count
		}
	}
	return append(array, ']'), len(rows)
}

// page returns the rows of a page that fit a result, in room bytes. A page that ends early is read again with fewer
// rows, so that its cursor goes on after the last one.
func (c *call) page(read *api.Read, answer api.Answer, room int) ([]byte, api.Meta, error) {
	kept := c.shape()
	requested := answer.Meta.Page
	for {
		rows := elements(answer.Data)
		array, fitting := kept.fit(rows, room)
		if fitting == len(rows) {
			meta := answer.Meta
			if meta.Page != nil {
				meta.Page = c.pageOf(*meta.Page, requested.Limit)
			}
			return array, meta, nil
		}
		if fitting == 0 || requested == nil {
			return nil, api.Meta{}, read.Refuse(c.tooLarge(len(answer.Data)))
		}
		var err error
		if answer, err = read.GetPage(c.args["cursor"], fitting); err != nil {
			return nil, api.Meta{}, err
		}
	}
}

// pageOf describes a page with the limit that was asked for, and a cursor that remembers the chosen window.
func (c *call) pageOf(page routes.Page, limit int) *routes.Page {
	page.Limit = limit
	if page.NextCursor != nil && c.window != "" {
		page.NextCursor = new(c.window + windowEnd + *page.NextCursor)
	}
	return &page
}

// shape is what the caller wants to see of a row.
func (c *call) shape() shape {
	if c.args[argDetail] == full {
		return nil
	}
	return c.tool.Concise
}

// tooLarge is the error of what fits no result whatever is asked for beside.
func (c *call) tooLarge(size int) *apierror.Error {
	argument, fix := argDetail, "ask for "+concise+" rows"
	switch {
	case slices.ContainsFunc(c.tool.Extra, func(p param.Param) bool { return p.Name == argInclude }):
		argument, fix = argInclude, "include fewer parts, or read them over HTTP"
	case c.shape() != nil || c.tool.Concise == nil:
		fix = "read it over HTTP"
	}
	return api.ArgumentError(param.Problem{
		Parameter: argument, Given: c.args[argument],
		Message: "asks for " + strconv.Itoa(size) + " bytes in one piece", Allowed: "what fits " + strconv.Itoa(maxStructured) + " bytes", Fix: fix,
	})
}

// window is a part of a long text.
type window struct {
	// text is the JSON of the text: all of it.
	text []byte
	// offset and limit are where the part begins, and how long it may be, in characters.
	offset, limit int
}

// textPart is a part of a text; without Text for none.
type textPart struct {
	Text       *string `json:"text"`
	Offset     int     `json:"offset"`
	TotalChars int     `json:"totalChars"`
	Truncated  bool    `json:"truncated"`
	NextOffset *int    `json:"nextOffset"`
}

// part returns the part of the text, in at most room bytes of JSON, cut between characters.
func (w window) part(room int) textPart {
	const textRoom = 128 // what the object with a part of a text takes beside the text, in bytes
	var text *string
	_ = json.Unmarshal(w.text, &text) // a string or null, as the route says
	if text == nil {
		return textPart{}
	}
	total := utf8.RuneCountInString(*text)
	offset := min(w.offset, total)
	from := byteOffset(*text, offset)
	part := (*text)[from:]
	part = part[:min(byteOffset(part, w.limit), escapedPrefix(part, room-textRoom))]
	found := textPart{Text: &part, Offset: offset, TotalChars: total}
	if next := offset + utf8.RuneCountInString(part); next < total {
		found.Truncated, found.NextOffset = true, &next
	}
	return found
}

// byteOffset returns where a character of a text begins; at its end for one beyond it.
func byteOffset(text string, char int) int {
	for at := range text {
		if char == 0 {
			return at
		}
		char--
	}
	return len(text)
}

// escapedPrefix returns the length of a text's beginning, in whole characters, that takes at most room bytes as
// JSON.
func escapedPrefix(text string, room int) int {
	for at, char := range text {
		switch {
		case char == '"' || char == '\\' || char == '\n':
			room -= 2
		case char < ' ' || char == '\u2028' || char == '\u2029':
			room -= 6
		default:
			room -= utf8.RuneLen(char)
		}
		if room < 0 {
			return at
		}
	}
	return len(text)
}
