package routes

import (
	"fmt"

	"pnyx/api/param"
)

// Cursors makes and reads cursors of one list.
type Cursors struct {
	cipher  *cursorCipher
	request *Request
}

// Given is a parameter with a value in canonical form.
type Given struct {
	Name  string
	Kind  param.Kind
	Value string
}

// NewCursors returns the cursors of a route with filters.
func NewCursors(key, route string, filters ...Given) Cursors {
	r := &Request{Route: &Route{ID: route}}
	for _, filter := range filters {
		r.Route.Params = append(r.Route.Params, param.Param{Name: filter.Name, Kind: filter.Kind, Unbound: filter.Name == "limit"})
		r.values = append(r.values, filter.Value)
	}
	made, err := newCursorCipher([]byte(key))
	if err != nil {
		panic(fmt.Sprintf("cipher of %q: %v", key, err))
	}
	return Cursors{made, r}
}

// Seal makes a cursor.
func (c Cursors) Seal(position any) string {
	cursor, err := c.cipher.encode(c.request, position)
	if err != nil {
		panic(fmt.Sprintf("seal %v: %v", position, err))
	}
	return cursor
}

// Open reads the position in a cursor.
func (c Cursors) Open(cursor string, position any) error {
	return c.cipher.decode(c.request, cursor, position)
}
