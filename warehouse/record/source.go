package record

// DAO lists the sources of a DAO.
type DAO struct {
	ID      string
	Name    string
	Sources []SourceRef
	// Tokens are its tokens beside the tokens of its Governors, each eip155:<chain>:<address>.
	Tokens []string `msgpack:",omitempty"`
	// Contracts are those that dossiers call by a name.
	Contracts []Contract `msgpack:",omitempty"`
}

// Contract is a contract of a DAO.
type Contract struct {
	// ID is eip155:<chain>:<address>, in lower case.
	ID   string
	Name string
	// Functions are the signatures of its functions, of which calls are decoded that the table of functions does not have.
	Functions []string `msgpack:",omitempty"`
}

// Kind implements Record.
func (*DAO) Kind() Kind { return KindDAO }

// Key returns the DAO's id.
func (d *DAO) Key() Key { return Key{d.ID} }

// Source describes an upstream source.
type Source struct {
	SourceRef
	Name string
	Slug string // of an organization; empty for others
	// Network is the chain id of a space, Symbol its token; empty if upstream states none.
	Network, Symbol string
	// Flagged is true if the provider marks a space as spam, and so all of its proposals.
	Flagged bool `msgpack:",omitempty"`
	// Token is the token of a Governor, eip155:<chain>:<address>; empty if it is not known.
	Token string `msgpack:",omitempty"`
}

// Kind implements Record.
func (*Source) Kind() Kind { return KindSource }

// Key returns the provider and the source's id.
func (s *Source) Key() Key { return Key{string(s.Provider), s.ID} }

// Category is a category of a forum.
type Category struct {
	// Host is the forum's host name, the id of its source.
	Host string
	ID   string
	Name string
	Slug string
	// Restricted is true if not everybody may read it. Name and Slug are then empty, its topics withheld.
	Restricted bool `msgpack:",omitempty"`
}

// Kind implements Record.
func (*Category) Kind() Kind { return KindCategory }

// Key returns the host and the category's id.
func (c *Category) Key() Key { return Key{c.Host, c.ID} }
