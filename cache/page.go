package cache

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"

	"github.com/vmihailenco/msgpack/v5"

	"pnyx/governance"
	"pnyx/governance/query"
)

const proposalRows query.Kind = "proposal-rows"

// ProposalRows is the scope of no page: its version moves before the rows are written that
// proposal pages are made from, and the versions of these pages after.
func ProposalRows() query.Scope { return query.Scope{Kind: proposalRows} }

const names query.Kind = "names"

// Names is the scope of the names of voters: each publication sets its version before pages with names get theirs.
func Names() query.Scope { return query.Scope{Kind: names} }

// PageRequest is a query as NewPageRequest encodes it for Redis: equal pages have equal requests and one key.
type PageRequest struct {
	Kind query.Kind `msgpack:"k"`
	// Scope is what the page's version is kept for.
	Scope query.Scope `msgpack:"s"`
	// Query is the encoded query, without zero fields: a new field changes only the keys of pages that it selects.
	Query msgpack.RawMessage `msgpack:"q"`
}

// NewPageRequest encodes a query. It panics on a type that cannot be encoded.
func NewPageRequest(q query.Page) PageRequest {
	var encoded bytes.Buffer
	encoder := msgpack.NewEncoder(&encoded)
	encoder.SetCustomStructTag("param")
	encoder.SetOmitEmpty(true)
	if err := encoder.Encode(q); err != nil {
		panic(fmt.Sprintf("encode a query of %s: %v", q.Kind(), err))
	}
	return PageRequest{Kind: q.Kind(), Scope: query.ScopeOf(q), Query: encoded.Bytes()}
}

// Decode reads the query. A field of a newer version is an error: the page would be built incorrectly.
func (r PageRequest) Decode(q any) error {
	decoder := msgpack.NewDecoder(bytes.NewReader(r.Query))
	decoder.SetCustomStructTag("param")
	decoder.DisallowUnknownFields(true)
	if err := decoder.Decode(q); err != nil {
		return fmt.Errorf("decode a query of %s: %w", r.Kind, err)
	}
	return nil
}

// ProposalRow is a row of a page of proposals.
type ProposalRow struct {
	Item     governance.ProposalListItem `msgpack:"i"`
	Position query.ProposalPosition      `msgpack:"p"`
}

// Key returns the name of the page's view: kind and subject, for people, and 128 bits of a hash of the query.
func (r PageRequest) Key() Key {
	sum := sha256.Sum256(r.Query)
	return viewKey("page", string(r.Kind), r.Scope.Subject, base64.RawURLEncoding.EncodeToString(sum[:16]))
}

// VersionKey returns the name of the version that the page has to have; empty for pages without one.
func (r PageRequest) VersionKey() Key {
	if r.Scope == (query.Scope{}) {
		return ""
	}
	return versionKey(r.Scope)
}
