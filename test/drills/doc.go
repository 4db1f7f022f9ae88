// Package drills breaks what Pnyx depends on while it is asked, and checks every
// answer: real processes, a real Redis, the real engine. It holds tests only, which
// run where PNYX_TEST_DRILLS or PNYX_TEST_SOAK is set; see make test-drills and make soak.
package drills
