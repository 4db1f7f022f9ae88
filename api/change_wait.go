package api

import (
	"context"
	"time"

	"github.com/gofiber/fiber/v2"

	"pnyx/api/routes"
)

// awaitChanges holds a request whose page has no rows until there is one, for as long as the
// request asks for. A payment buys what there is now, and an edge that gives up gets its
// answer before.
func (a *API) awaitChanges(c *fiber.Ctx, s *requestState, r *routes.Request, found *rendered) (*rendered, error) {
	params, is := r.Params.(*routes.ChangeParams)
	if !is || params.Wait == 0 || s.charge != nil || a.draining.Load() || found.page.HasMore {
		return found, nil
	}
	leave, err := a.changes.enter()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	// Nodes are added for requests that take long, not for those that ask to wait.
	a.metrics.inFlight.Dec()
	defer func() {
		a.metrics.inFlight.Inc()
		s.waited = time.Since(began)
		leave()
	}()
	deadline := time.NewTimer(a.admission.edgeBound(c, time.Duration(params.Wait)*time.Second))
	defer deadline.Stop()
	for {
		grown := a.changes.growth()
		// Each page begins where the one before it ended: without a cursor, that is where the
		// first one began.
		found, err = a.loadHeld(c.UserContext(), r.After(*found.page.NextCursor))
		s.now = a.now()
		if err != nil || !found.empty {
			return found, err
		}
		select {
		case <-grown:
		case <-deadline.C:
			return found, nil
		case <-a.changes.draining:
			return found, nil
		}
	}
}

// loadHeld is loadAnswer for a request that waits for changes.
func (a *API) loadHeld(ctx context.Context, r *routes.Request) (*rendered, error) {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	return a.loadAnswer(ctx, nil, r)
}

// edgeBound shortens a wait to what an edge waits for an answer.
func (a *admission) edgeBound(c *fiber.Ctx, wait time.Duration) time.Duration {
	if limit, stated := a.edgeTimeout(c); stated {
		return max(0, min(wait, limit-a.timeout))
	}
	return wait
}
