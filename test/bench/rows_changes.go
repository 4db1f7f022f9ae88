package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"pnyx/access"
	"pnyx/cache"
	"pnyx/governance"
	"pnyx/test/env"
)

// waiters is how many requests wait for changes, and dialBatchSize how many connect at a time.
const (
	waiters       = 10_000
	dialBatchSize = 100
)

// changeRows measure a node at which many requests wait for changes, on shared cores.
func changeRows() []Row {
	name := fmt.Sprintf("%d requests wait for changes at one node: ", waiters)
	return []Row{
		{
			ID: "changes-memory", Name: name + "resident memory a request", Unit: "KB", Rounds: 1, Quick: 1, Value: AtMost(100),
			Prepare: func(ctx context.Context, e *Environment) Sides {
				w := e.wait(ctx)
				return Sides{Pnyx: func(context.Context) float64 { return w.kilobytes }}
			},
		},
		{
			ID: "changes-wake", Name: name + "99th percentile from a row to its answer", Unit: "ms", Rounds: 1, Quick: 1,
			Prepare: func(ctx context.Context, e *Environment) Sides {
				w := e.wait(ctx)
				return Sides{Pnyx: func(ctx context.Context) float64 { return w.wake(ctx, e) }}
			},
		},
	}
}

type waitingRequests struct {
	conns []net.Conn
	// kilobytes is what each adds to the resident memory of the node.
	kilobytes float64
}

// wait starts a node, and has many requests wait at it until the end of the row.
func (e *Environment) wait(ctx context.Context) *waitingRequests {
	e.Published(ctx)
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil || files.Cur < waiters+1000 {
		mustDo(errors.Join(fmt.Errorf("at most %d open files: raise it with ulimit -n", files.Cur), err))
	}
	listen, admin := freeAddresses()
	node := e.Start(ctx, e.apiAt(listen, admin), func() error { return answersOK(ctx, "http://"+admin+"/readyz") })
	before := node.peakMemory()
	w := &waitingRequests{}
	e.Undo(w.close)
	request := fmt.Sprintf("GET /v2/changes?kind=topic&wait=25 HTTP/1.1\r\nHost: %s\r\n%s: %s\r\n\r\n", listen, access.HeaderInternal, e.secret)
	for len(w.conns) < waiters {
		for range dialBatchSize {
			conn := must((&net.Dialer{}).DialContext(ctx, "tcp", listen))
			w.conns = append(w.conns, conn)
			must(conn.Write([]byte(request)))
		}
		waiting := fmt.Sprintf("pnyx_changes_waiting %d\n", len(w.conns))
		mustDo(node.until(ctx, func() error { return answerHas(ctx, "http://"+admin+"/metrics", waiting) }))
	}
	w.kilobytes = (node.peakMemory() - before) / 1e3 / waiters
	return w
}

// answerHas returns an error unless the answer to a GET contains a text.
func answerHas(ctx context.Context, url, text string) error {
	body, err := fetch(ctx, url, nil)
	if err == nil && !bytes.Contains(body, []byte(text)) {
		err = fmt.Errorf("%s lacks %q", url, text)
	}
	return err
}

func (w *waitingRequests) close() error {
	for _, conn := range w.conns {
		_ = conn.Close() // nothing to lose
	}
	return nil
}

// wake adds a row, and returns the 99th percentile of the time until all have it, in milliseconds.
func (w *waitingRequests) wake(ctx context.Context, e *Environment) float64 {
	store := must(cache.Open(e.url, time.Minute))
	defer store.Close()
	answered, errs := make([]time.Time, len(w.conns)), make([]error, len(w.conns))
	var reading sync.WaitGroup
	for i, conn := range w.conns {
		reading.Go(func() {
			answer := make([]byte, 2048)
			count, err := conn.Read(answer)
			answered[i] = time.Now()
			if !strings.HasPrefix(string(answer[:count]), "HTTP/1.1 200") {
				errs[i] = errors.Join(fmt.Errorf("a request that waited got %.100q", answer[:count]), err)
			}
		})
	}
	began := time.Now()
	_, err := env.AddChanges(ctx, store, governance.Change{Kind: governance.TopicChange, Key: "bench", Revision: "1"})
	err = errors.Join(err, store.Notify(ctx, nil))
	reading.Wait()
	mustDo(errors.Join(err, errors.Join(errs...)))
	times := make([]float64, len(answered))
	for i, at := range answered {
		times[i] = float64(at.Sub(began).Microseconds()) / 1e3
	}
	slices.Sort(times)
	fmt.Fprintf(e.Log, "  median %.1f ms, all %.1f ms\n", times[len(times)/2], times[len(times)-1])
	return times[len(times)*99/100]
}
