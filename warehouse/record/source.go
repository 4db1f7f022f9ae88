package record

// DAO says which sources make up a DAO.
type DAO struct {
	ID      string
	Name    string
	Sources []SourceRef
}

// Kind returns KindDAO.
func (*DAO) Kind() Kind { return KindDAO }

// Key returns the DAO's id.
func (d *DAO) Key() []string { return []string{d.ID} }

// Source describes an upstream source.
type Source struct {
	SourceRef
	// Name, Slug, Network and Symbol are empty where upstream states none.
	Name    string
	Slug    string
	Network string
	Symbol  string
}

// Kind returns KindSource.
func (*Source) Kind() Kind { return KindSource }

// Key returns the provider and the source's id.
func (s *Source) Key() []string { return []string{string(s.Provider), s.ID} }

// Category is a category of a forum.
type Category struct {
	// Host is the forum's host name, the id of its source.
	Host string
	// ID is the category's number as text.
	ID   string
	Name string
	Slug string
}

// Kind returns KindCategory.
func (*Category) Kind() Kind { return KindCategory }

// Key returns the host and the category's id.
func (c *Category) Key() []string { return []string{c.Host, c.ID} }
