package edge_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"pnyx/edge"
	"pnyx/test/env"
)

func TestOnlyFailuresAndASampleAreLogged(t *testing.T) {
	t.Parallel()
	o := newOrigin(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v2/daos/broken" {
			w.WriteHeader(http.StatusBadGateway)
		}
	})
	for sample, wantAll := range map[uint64]bool{0: false, 1: true} {
		e := startEdge(t, o.URL, func(o *edge.Options) { o.LogSample = sample })
		for _, path := range []string{"/v2/daos/fine", "/v2/daos/broken"} {
			e.get(path)
		}
		env.Until(e, func() error {
			if !strings.Contains(e.requests.String(), "/v2/daos/broken") {
				return errors.New("the failure is not logged")
			}
			return nil
		})
		env.Want(t, wantAll, strings.Contains(e.requests.String(), "/v2/daos/fine"), "sample", sample, "a request that did not fail is logged")
	}
}
