package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/valyala/fasthttp"
)

// Latency measures response times under an open load, sent on schedule whether or not earlier ones were answered.
type Latency struct {
	ID, Name string
	// Publishing keeps a worker publishing during the measurement.
	Publishing bool
	// Prepare returns the requests to send and the saturation rate of the server.
	Prepare func(context.Context, *Environment) Load
}

// Load describes requests to one server.
type Load struct {
	// URLs are requested in rotation.
	URLs   []string
	Header http.Header
	// Saturation is the maximum rate that the server sustains, in requests per second.
	Saturation float64
}

// LatencyResult holds the response times of one load, in milliseconds.
type LatencyResult struct {
	ID, Name string
	Rate     float64
	// P50, P99 and P999 are percentiles, and Max is the slowest response.
	P50, P99, P999, Max float64
	// Count is the number of measured requests, and Failed of those without a successful response.
	Count, Failed int64
}

// maxLatency is the largest latency that the histogram records.
const maxLatency = 30 * time.Second

// run sends requests at half of the saturation rate, at even intervals. Latency counts from when a request was
// due, and therefore includes the wait for an earlier one.
func (l Latency) run(ctx context.Context, e *Environment, length time.Duration) LatencyResult {
	load := l.Prepare(ctx, e)
	if l.Publishing {
		stop := keepPublishing(ctx, e)
		defer stop()
	}
	drive := newDrive(load, connections)
	defer drive.close()
	rate := load.Saturation / 2
	must2(drive.run(ctx, rate, length/10)) // to warm up
	taken, failed, err := drive.run(ctx, rate, length)
	if failed > 0 {
		fmt.Fprintf(e.Log, "  %d failed, the first with %s\n%s", failed, *drive.failure.Load(), &e.worker.output)
	}
	mustDo(err)
	return LatencyResult{
		ID: l.ID, Name: l.Name, Rate: rate, Count: taken.TotalCount(), Failed: failed,
		P50: inMilliseconds(taken.ValueAtQuantile(50)), P99: inMilliseconds(taken.ValueAtQuantile(99)),
		P999: inMilliseconds(taken.ValueAtQuantile(99.9)), Max: inMilliseconds(taken.Max()),
	}
}

func inMilliseconds(microseconds int64) float64 { return float64(microseconds) / 1000 }

type drive struct {
	requests [][]byte
	next     atomic.Int64
	// once ends the load when each request was sent once.
	once    bool
	conns   []net.Conn
	failure atomic.Pointer[string]
}

func newDrive(load Load, connections int) *drive {
	d := &drive{}
	var host string
	for _, address := range load.URLs {
		parsed := must(url.Parse(address))
		host = parsed.Host
		request := fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\n", parsed.RequestURI(), host)
		for name, values := range load.Header {
			request = fmt.Appendf(request, "%s: %s\r\n", name, values[0])
		}
		d.requests = append(d.requests, append(request, "\r\n"...))
	}
	for range connections {
		d.conns = append(d.conns, must(net.Dial("tcp", host))) //nolint:noctx // loopback
	}
	return d
}

func (d *drive) close() {
	for _, conn := range d.conns {
		conn.Close()
	}
}

// run sends the load for a duration, at a rate in requests per second that the connections share. Rate 0 sends
// each request as soon as the previous one is answered.
func (d *drive) run(ctx context.Context, rate float64, length time.Duration) (*hdrhistogram.Histogram, int64, error) {
	var interval time.Duration
	if rate > 0 {
		interval = time.Duration(float64(time.Second) / rate)
	}
	total := hdrhistogram.New(1, maxLatency.Microseconds(), 3)
	var failed atomic.Int64
	var mu sync.Mutex
	var problems []error
	var running sync.WaitGroup
	began := time.Now()
	for i, conn := range d.conns {
		running.Go(func() {
			p := pace{due: began.Add(time.Duration(i) * interval), step: time.Duration(len(d.conns)) * interval, end: began.Add(length)}
			taken, bad, err := d.send(ctx, conn, p)
			mu.Lock()
			defer mu.Unlock()
			total.Merge(taken)
			failed.Add(bad)
			problems = append(problems, err)
		})
	}
	running.Wait()
	return total, failed.Load(), errors.Join(problems...)
}

// pace is the schedule of a connection. With a step of zero it never waits.
type pace struct {
	due, end time.Time
	step     time.Duration
}

// send sends the requests of one connection.
func (d *drive) send(ctx context.Context, conn net.Conn, p pace) (*hdrhistogram.Histogram, int64, error) {
	taken := hdrhistogram.New(1, maxLatency.Microseconds(), 3)
	reader := bufio.NewReaderSize(conn, 64<<10)
	var answer fasthttp.Response
	var failed int64
	if err := conn.SetDeadline(p.end.Add(maxLatency)); err != nil {
		return taken, failed, err
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ; p.due.Before(p.end) && ctx.Err() == nil; p.due = p.due.Add(p.step) {
		if p.step == 0 {
			p.due = time.Now()
		}
		if early := time.Until(p.due); early > 0 {
			timer.Reset(early)
			<-timer.C
		}
		turn := int(d.next.Add(1) - 1)
		if d.once && turn >= len(d.requests) {
			break
		}
		request := d.requests[turn%len(d.requests)]
		if _, err := conn.Write(request); err != nil {
			return taken, failed, fmt.Errorf("send: %w", err)
		}
		if err := answer.Read(reader); err != nil {
			return taken, failed, fmt.Errorf("receive: %w", err)
		}
		if answer.StatusCode() != http.StatusOK {
			failed++
			text := fmt.Sprintf("%d after %s: %.300s", answer.StatusCode(), time.Since(p.due).Round(time.Millisecond), answer.Body())
			d.failure.CompareAndSwap(nil, &text)
		}
		_ = taken.RecordValue(max(1, min(time.Since(p.due), maxLatency).Microseconds())) // within its bounds
	}
	return taken, failed, ctx.Err()
}

func wait(d time.Duration) {
	if d > 0 {
		<-time.After(d)
	}
}
