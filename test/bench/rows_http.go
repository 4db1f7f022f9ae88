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
			ID: "hot-free", Name: "hot free route", Yardstick: "bare Fiber handler, constant body", Unit: "requests/s",
			Ratio: AtLeast(0.7), Rounds: 7, Quick: 3,
			Prepare: func(ctx context.Context, w *World) (Sides, error) {
				url, size, err := w.hotFree(ctx)
				if err != nil {
					return Sides{}, err
				}
				bare, err := w.Bare(ctx, size, "")
				return Sides{Ours: w.Saturate(url, nil), Bare: w.Saturate(bare, nil)}, err
			},
		},
		{
			ID: "hot-free-nginx", Name: "hot free route", Yardstick: "nginx, a static file", Unit: "requests/s",
			Rounds: 3, Quick: 1,
			Prepare: func(ctx context.Context, w *World) (Sides, error) {
				url, size, err := w.hotFree(ctx)
				if err != nil {
					return Sides{}, err
				}
				static, err := w.Nginx(ctx, size)
				return Sides{Ours: w.Saturate(url, nil), Bare: w.Saturate(static, nil)}, err
			},
		},
		{
			ID: "hot-paid", Name: "hot paid route: token, bucket, quota", Yardstick: "bare Fiber handler, one redis_rate Allow, pipelined",
			Unit: "requests/s", Ratio: AtLeast(0.7), Rounds: 7, Quick: 3,
			Prepare: func(ctx context.Context, w *World) (Sides, error) {
				url, header, size, err := w.hotPaid(ctx)
				if err != nil {
					return Sides{}, err
				}
				redisURL, err := w.Redis(ctx)
				if err != nil {
					return Sides{}, err
				}
				bare, err := w.Bare(ctx, size, redisURL)
				return Sides{Ours: w.Saturate(url, header), Bare: w.Saturate(bare, nil)}, err
			},
		},
		{
			ID: "hot-paid-redis", Name: "hot paid route: token, bucket, quota", Yardstick: "redis-benchmark GET, not pipelined",
			Unit: "requests/s", Rounds: 3, Quick: 1,
			Prepare: func(ctx context.Context, w *World) (Sides, error) {
				url, header, size, err := w.hotPaid(ctx)
				if err != nil {
					return Sides{}, err
				}
				return Sides{Ours: w.Saturate(url, header), Bare: w.redisBenchmark(size)}, nil
			},
		},
	}
}

// hotFree is a free route and the size of its answer.
func (w *World) hotFree(ctx context.Context) (url string, size int, err error) {
	base, _, err := w.API(ctx)
	if err != nil {
		return "", 0, err
	}
	url = base + "/v2/daos?limit=3"
	size, err = sizeOfAnswer(ctx, url, nil)
	return url, size, err
}

// hotPaid is the vote summary of a proposal.
func (w *World) hotPaid(ctx context.Context) (url string, header http.Header, size int, err error) {
	base, _, err := w.API(ctx)
	if err != nil {
		return "", nil, 0, err
	}
	if _, err = w.Token(ctx); err != nil {
		return "", nil, 0, err
	}
	proposal, err := w.largestProposal(ctx)
	if err != nil {
		return "", nil, 0, err
	}
	url = base + "/v2/proposals/" + proposal.Key + "/votes/summary"
	size, err = sizeOfAnswer(ctx, url, w.paid())
	return url, w.paid(), size, err
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
func (w *World) redisBenchmark(size int) Measure {
	return func(ctx context.Context) (float64, error) {
		address := strings.TrimPrefix(w.url, "redis://")
		// The very key that it reads.
		if err := w.store.Set(ctx, "key:__rand_int__", strings.Repeat("x", size), 0).Err(); err != nil {
			return 0, err
		}
		_, port, _ := strings.Cut(address, ":")
		requests := "300000"
		if w.Quick {
			requests = "100000"
		}
		text, err := w.Run(ctx, Program{Cores: w.LoadCores, Args: []string{
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
