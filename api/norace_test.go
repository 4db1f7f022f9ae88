//go:build !race

package api_test

// raceDetector says that the race detector is on, which allocates.
const raceDetector = false
