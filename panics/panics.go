// Package panics makes errors of panics: a fault in what a record is read with ends neither the process nor its other work.
package panics

import (
	"context"
	"fmt"
	"runtime/debug"

	"golang.org/x/sync/errgroup"
)

// Caught sets err to what a function panics with, and where. The function defers it.
func Caught(err *error) {
	if cause := recover(); cause != nil {
		*err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
	}
}

// Group is an errgroup.Group with functions that may panic: what one panics with is its error.
type Group struct{ *errgroup.Group }

// WithContext is as errgroup.WithContext.
func WithContext(ctx context.Context) (Group, context.Context) {
	group, ctx := errgroup.WithContext(ctx)
	return Group{group}, ctx
}

// Go is as errgroup.Group.Go.
func (g Group) Go(run func() error) {
	g.Group.Go(func() (err error) {
		defer Caught(&err)
		return run()
	})
}
