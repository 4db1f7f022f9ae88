package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
)

// httpRows are the hot routes: what they answer is on the node already.
func httpRows() []Row {
	return []Row{
		{
			ID: "hot-free", Name: "hot free route", Baseline: "plain Fiber handler, constant body", Unit: "requests/s",
			Ratio: AtLeast(0.75), Rounds: 7, Quick: 3,
			Prepare: func(ctx context.Context, e *Environment) (Sides, error) {
				url, size, err := e.hotFree(ctx)
				if err != nil {
					return Sides{}, err
				}
				baseline, err := e.FiberBaseline(ctx, size, "")
				return Sides{Pnyx: e.Saturate(url, nil), Baseline: e.Saturate(baseline, nil)}, err
			},
		},
		{
			ID: "hot-free-nginx", Name: "hot free route", Baseline: "nginx, a static file", Unit: "requests/s",
			Rounds: 3, Quick: 1,
			Prepare: func(ctx context.Context, e *Environment) (Sides, error) {
				url, size, err := e.hotFree(ctx)
				if err != nil {
					return Sides{}, err
				}
				static, err := e.NginxBaseline(ctx, size)
				return Sides{Pnyx: e.Saturate(url, nil), Baseline: e.Saturate(static, nil)}, err
			},
		},
		{
			ID: "hot-free-gzip", Name: "hot free route, in gzip", Baseline: "plain Fiber handler, the same body, Fiber's compress",
			Unit: "requests/s", Ratio: AtLeast(1), Rounds: 3, Quick: 1,
			Prepare: func(ctx context.Context, e *Environment) (Sides, error) {
				url, _, err := e.hotFree(ctx)
				if err != nil {
					return Sides{}, err
				}
				_, text, err := get(ctx, url, nil)
				if err != nil {
					return Sides{}, err
				}
				baseline, err := e.CompressingBaseline(ctx, text)
				accepts := http.Header{"Accept-Encoding": {"gzip"}}
				return Sides{Pnyx: e.Saturate(url, accepts), Baseline: e.Saturate(baseline, accepts)}, err
			},
		},
		{
			ID: "hot-paid", Name: "hot paid route: token, bucket, quota", Baseline: "plain Fiber handler, one redis_rate Allow, pipelined",
			Unit: "requests/s", Ratio: AtLeast(0.9), Rounds: 7, Quick: 3,
			Prepare: func(ctx context.Context, e *Environment) (Sides, error) {
				url, header, size, err := e.hotPaid(ctx)
				if err != nil {
					return Sides{}, err
				}
				redisURL, err := e.Redis(ctx)
				if err != nil {
					return Sides{}, err
				}
				baseline, err := e.FiberBaseline(ctx, size, redisURL)
				return Sides{Pnyx: e.Saturate(url, header), Baseline: e.Saturate(baseline, nil)}, err
			},
		},
		{
			ID: "hot-paid-redis", Name: "hot paid route: token, bucket, quota", Baseline: "redis-benchmark GET, not pipelined",
			Unit: "requests/s", Rounds: 3, Quick: 1,
			Prepare: func(ctx context.Context, e *Environment) (Sides, error) {
				url, header, size, err := e.hotPaid(ctx)
				if err != nil {
					return Sides{}, err
				}
				return Sides{Pnyx: e.Saturate(url, header), Baseline: e.redisBenchmark(size)}, nil
			},
		},
	}
}

// hotFree is a free route and the size of its answer.
func (e *Environment) hotFree(ctx context.Context) (url string, size int, err error) {
	base, _, err := e.API(ctx)
	if err != nil {
		return "", 0, err
	}
	url = base + "/v2/daos?limit=3"
	size, err = sizeOfAnswer(ctx, url, nil)
	return url, size, err
}

// hotPaid is the vote summary of a proposal.
func (e *Environment) hotPaid(ctx context.Context) (url string, header http.Header, size int, err error) {
	base, _, err := e.API(ctx)
	if err != nil {
		return "", nil, 0, err
	}
	if _, err = e.Token(ctx); err != nil {
		return "", nil, 0, err
	}
	proposal, err := e.largestProposal(ctx)
	if err != nil {
		return "", nil, 0, err
	}
	url = base + "/v2/proposals/" + proposal.Key + "/votes/summary"
	size, err = sizeOfAnswer(ctx, url, e.paid())
	return url, e.paid(), size, err
}

func sizeOfAnswer(ctx context.Context, url string, header http.Header) (int, error) {
	status, body, err := get(ctx, url, header)
	if err != nil {
		return 0, err
	}
	if status != http.StatusOK {
		return 0, fmt.Errorf("%s answers %d: %s", url, status, body)
	}
	return len(body), nil
}

// redisBenchmark measures GETs of a value of so many bytes with Redis' own program.
func (e *Environment) redisBenchmark(size int) Measure {
	return func(ctx context.Context) (float64, error) {
		address := strings.TrimPrefix(e.url, "redis://")
		// The very key that it reads.
		if err := e.store.Set(ctx, "key:__rand_int__", strings.Repeat("x", size), 0).Err(); err != nil {
			return 0, err
		}
		_, port, _ := strings.Cut(address, ":")
		requests := "300000"
		if e.Quick {
			requests = "100000"
		}
		text, err := e.Run(ctx, Program{Cores: e.LoadCores, Args: []string{
			"redis-benchmark", "-p", port, "-t", "get", "-c", fmt.Sprint(connections), "-n", requests, "-d", fmt.Sprint(size), "--csv",
		}})
		if err != nil {
			return 0, err
		}
		return readRedisBenchmark(text)
	}
}

// readRedisBenchmark reads the rate of GET from lines such as "GET","74074.07",….
func readRedisBenchmark(text string) (float64, error) {
	for line := range strings.Lines(text) {
		fields := strings.Split(strings.ReplaceAll(strings.TrimSpace(line), `"`, ""), ",")
		var rate float64
		if fields[0] != "GET" || len(fields) < 2 {
			continue
		}
		_, err := fmt.Sscan(fields[1], &rate)
		return rate, err
	}
	return 0, fmt.Errorf("redis-benchmark prints no rate: %s", text)
}
