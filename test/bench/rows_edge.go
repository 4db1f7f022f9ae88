package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// roundTrip is the delay between an edge and its nodes in another place, there and back.
const roundTrip = time.Millisecond

// edgeRows compare answers that the edge holds with nginx serving as many bytes as a file.
func edgeRows() []Row {
	row := func(id, name string, least float64, hot hotRoute) Row {
		return Row{
			ID: id, Name: name + " at the edge", Baseline: "nginx, a static file", Unit: "requests/s", Ratio: AtLeast(least), Rounds: 7, Quick: 3,
			Prepare: func(ctx context.Context, e *Environment) Sides {
				url, header, size := atEdge(ctx, e, hot, 0)
				static := NginxBaseline(ctx, e, size)
				return Sides{Pnyx: e.Saturate(url, header), Baseline: e.Saturate(static, nil)}
			},
		}
	}
	return []Row{
		row("edge-free", "hot free route", 0.75, (*Environment).hotFree),
		row("edge-paid", "hot paid route", 0.25, (*Environment).hotPaid),
		{
			ID: "edge-paid-far", Name: "hot paid route at the edge, 1 ms from its node: p99 at half of saturation", Unit: "ms",
			Baseline: "the node at this rate", Value: AtMost(6), Rounds: 3, Quick: 1,
			Prepare: func(ctx context.Context, e *Environment) Sides {
				url, header, _ := atEdge(ctx, e, (*Environment).hotPaid, roundTrip)
				rate := e.saturate(ctx, url, header)
				p99 := func(url string) Measure {
					load := Latency{Prepare: func(context.Context, *Environment) Load {
						return Load{URLs: []string{url}, Header: header, Saturation: rate}
					}}
					return func(ctx context.Context) float64 {
						result := load.run(ctx, e, 10*time.Second)
						if result.Failed > 0 {
							mustDo(fmt.Errorf("%d of %d requests failed", result.Failed, result.Count))
						}
						return result.P99
					}
				}
				direct, _, _ := e.hotPaid(ctx)
				return Sides{Pnyx: p99(url), Baseline: p99(direct)}
			},
		},
	}
}

// atEdge starts an edge before the node, so far away, and returns a route there that it holds.
func atEdge(ctx context.Context, e *Environment, hot hotRoute, far time.Duration) (url string, header http.Header, size int) {
	url, header, _ = hot(e, ctx)
	origin := strings.TrimPrefix(e.apiBase, "http://")
	if far > 0 {
		origin = delayed(e, origin, far/2)
	}
	listen, admin := freeAddresses()
	url = strings.Replace(url, e.apiBase, "http://"+listen, 1)
	e.Start(ctx, Program{
		Name: "pnyx edge", Args: []string{e.Pnyx, "edge"}, Cores: e.ServeCores,
		Env: append(e.common(), "PNYX_EDGE_ORIGIN=http://"+origin, "PNYX_EDGE_LISTEN="+listen, "PNYX_EDGE_ADMIN_LISTEN="+admin, "PNYX_EDGE_DIR="+e.Dir+"/edge"),
	}, func() (err error) { size, err = sizeOfAnswer(ctx, url, header); return err })
	return url, header, size
}

// delayed passes connections on to an address; bytes arrive later by a delay.
func delayed(e *Environment, to string, by time.Duration) (address string) {
	listener := must(net.Listen("tcp", "127.0.0.1:0")) //nolint:noctx // loopback
	e.Undo(listener.Close)
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			if far, err := net.Dial("tcp", to); err == nil { //nolint:noctx // loopback
				go passOn(far, near, by)
				go passOn(near, far, by)
			} else {
				near.Close()
			}
		}
	}()
	return listener.Addr().String()
}

// passOn copies bytes that arrive later by a delay.
func passOn(to, from net.Conn, by time.Duration) {
	type packet struct {
		due  time.Time
		data []byte
	}
	packets := make(chan packet, 1024)
	go func() {
		defer to.Close()
		for p := range packets {
			wait(time.Until(p.due))
			_, _ = to.Write(p.data) // a reader that is gone ends the other direction
		}
	}()
	defer close(packets)
	for err := error(nil); err == nil; {
		var n int
		data := make([]byte, 16<<10)
		n, err = from.Read(data)
		packets <- packet{time.Now().Add(by), data[:n]}
	}
}
