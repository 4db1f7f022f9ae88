// Package drills breaks what Pnyx depends on under load, and checks every answer. It runs
// real processes, a real Redis and the real engine. It has tests only, which run where
// PNYX_TEST_DRILLS, PNYX_TEST_HISTORIES, PNYX_TEST_MIRROR, PNYX_TEST_SOAK or PNYX_TEST_FLOOD
// is set; see make test-drills, make test-histories, make test-mirror, make soak and make flood.
package drills
