// Package drills breaks what Pnyx depends on under load, and checks every answer. It runs
// real processes, a real Redis and the real engine. It has tests only, which run where PNYX_TEST_DRILLS or PNYX_TEST_SOAK is set; see make test-drills and make soak.
package drills
