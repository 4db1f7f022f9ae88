package main

import (
	"fmt"
	"path/filepath"
	"runtime"
)

// failure is the error that ends a row. What cannot go on panics with it, and caught returns it.
type failure struct{ error }

// caught does something and returns the error that ended it.
func caught(do func()) (err error) {
	defer func() {
		switch cause := recover().(type) {
		case nil:
		case failure:
			err = cause.error
		default:
			panic(cause)
		}
	}()
	do()
	return nil
}

// must returns a value that comes without an error, and ends the row otherwise.
func must[T any](value T, err error) T {
	end(err)
	return value
}

// must2 is must for two values.
func must2[A, B any](a A, b B, err error) (A, B) {
	end(err)
	return a, b
}

// mustDo ends the row where something failed.
func mustDo(err error) { end(err) }

// end ends the row with an error, which names the place.
func end(err error) {
	if err != nil {
		_, file, line, _ := runtime.Caller(2)
		panic(failure{fmt.Errorf("%s:%d: %w", filepath.Base(file), line, err)})
	}
}
