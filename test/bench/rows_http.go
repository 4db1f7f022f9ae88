package main

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// hotRoute finds a route whose answer is on the node, its headers, and its size.
type hotRoute func(*Environment, context.Context) (url string, header http.Header, size int)

// httpRows are the hot routes: what they answer is on the node already.
func httpRows() []Row {
	row := func(id, name, baseline string, ratio Bound, rounds, quick int, hot hotRoute, other func(context.Context, *Environment, int) Measure) Row {
		return Row{
			ID: id, Name: name, Baseline: baseline, Unit: "requests/s", Ratio: ratio, Rounds: rounds, Quick: quick,
			Prepare: func(ctx context.Context, e *Environment) Sides {
				url, header, size := hot(e, ctx)
				return Sides{Pnyx: e.Saturate(url, header), Baseline: other(ctx, e, size)}
			},
		}
	}
	const free, paid = "hot free route", "hot paid route: token, bucket, quota"
	return []Row{
		row("hot-free", free, "plain Fiber handler, constant body", AtLeast(0.75), 7, 3, (*Environment).hotFree,
			func(ctx context.Context, e *Environment, size int) Measure {
				return e.Saturate(FiberBaseline(ctx, e, size, ""), nil)
			}),
		row("hot-free-nginx", free, "nginx, a static file", Bound{}, 3, 1, (*Environment).hotFree,
			func(ctx context.Context, e *Environment, size int) Measure {
				return e.Saturate(NginxBaseline(ctx, e, size), nil)
			}),
		{
			ID: "hot-free-gzip", Name: free + ", in gzip", Baseline: "plain Fiber handler, the same body, Fiber's compress",
			Unit: "requests/s", Ratio: AtLeast(1), Rounds: 3, Quick: 1,
			Prepare: func(ctx context.Context, e *Environment) Sides {
				url, _, _ := e.hotFree(ctx)
				_, text := must2(get(ctx, url, nil))
				baseline := CompressingBaseline(ctx, e, text)
				accepts := http.Header{"Accept-Encoding": {"gzip"}}
				return Sides{Pnyx: e.Saturate(url, accepts), Baseline: e.Saturate(baseline, accepts)}
			},
		},
		row("hot-paid", paid, "plain Fiber handler, one redis_rate Allow, pipelined", AtLeast(0.9), 7, 3, (*Environment).hotPaid,
			func(ctx context.Context, e *Environment, size int) Measure {
				return e.Saturate(FiberBaseline(ctx, e, size, e.url), nil)
			}),
		row("hot-paid-redis", paid, "redis-benchmark GET, not pipelined", Bound{}, 3, 1, (*Environment).hotPaid,
			func(_ context.Context, e *Environment, size int) Measure { return e.redisBenchmark(size) }),
	}
}

func (e *Environment) hotFree(ctx context.Context) (url string, header http.Header, size int) {
	base, _ := e.API(ctx)
	url = base + "/v2/daos?limit=3"
	size = must(sizeOfAnswer(ctx, url, nil))
	return url, nil, size
}

func (e *Environment) hotPaid(ctx context.Context) (url string, header http.Header, size int) {
	base, _ := e.API(ctx)
	e.Token(ctx)
	url = base + "/v2/proposals/" + e.largestProposal(ctx).Key + "/votes/summary"
	size = must(sizeOfAnswer(ctx, url, e.paid()))
	return url, e.paid(), size
}

func sizeOfAnswer(ctx context.Context, url string, header http.Header) (int, error) {
	body, err := fetch(ctx, url, header)
	return len(body), err
}

// redisBenchmark measures GETs of a value of so many bytes with Redis' own program.
func (e *Environment) redisBenchmark(size int) Measure {
	return func(ctx context.Context) float64 {
		address := strings.TrimPrefix(e.url, "redis://")
		// The very key that it reads.
		mustDo(e.store.Set(ctx, "key:__rand_int__", strings.Repeat("x", size), 0).Err())
		_, port, _ := strings.Cut(address, ":")
		requests := "300000"
		if e.Quick {
			requests = "100000"
		}
		text := must(e.Run(ctx, Program{Cores: e.LoadCores, Args: []string{
			"redis-benchmark", "-p", port, "-t", "get", "-c", fmt.Sprint(connections), "-n", requests, "-d", fmt.Sprint(size), "--csv",
		}}))
		return must(readRedisBenchmark(text))
	}
}

// readRedisBenchmark reads the rate of GET from lines such as "GET","74074.07",….
func readRedisBenchmark(text string) (float64, error) { return rateIn(text, redisRate) }

var redisRate = regexp.MustCompile(`(?m)^"?GET"?,"?([0-9.]+)`)
