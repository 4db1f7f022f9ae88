package routes

import (
	"pnyx/api/httpcache"
	"pnyx/cache"
)

// Answer is what a handler returns.
type Answer struct {
	// Data becomes the member data of the envelope.
	Data any
	// File is sent instead of an envelope; nil for none.
	File *File
	// View is the view that the data was read from. meta contains its time and readiness.
	View   cache.View
	Page   *Page
	Source httpcache.Source
	// NodeLocal says that the data comes from the node's settings, which no publication changes.
	NodeLocal bool
	// Dated says that the answer changes as time passes, from view.FreshUntil on.
	Dated bool
	// ByContent says that answers of one revision may differ: a dossier is pending before it is there, and
	// rests on more than its own proposal; a DAO consists of two views; lags grow.
	ByContent bool
	// Live says that the next request may get more, so that no cache keeps the answer, and
	// empty that it has no rows and costs nothing.
	Live, Empty bool
	Hint        string
}

// File is an answer without an envelope. Its bytes are the same for all callers, and for
// as long as its path exists.
type File struct {
	cache.File

	Media string
}

// Page describes which part of a list an answer is.
type Page struct {
	// Limit is the number of rows that was requested.
	Limit int `json:"limit"`
	// HasMore says that there is a next page.
	HasMore bool `json:"hasMore"`
	// NextCursor is the cursor of the next page; null on the last one.
	NextCursor *string `json:"nextCursor"`
}
