package cache

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// maxQueuedCommands bounds what waits for a Redis that hangs.
const maxQueuedCommands = 10_000

// pipelineDialTimeout bounds how long a try to connect keeps others waiting.
const pipelineDialTimeout = time.Second

// Pipeline sends the commands of many goroutines together. A command waits for no
// longer than the timeout and an eighth of it, and is sent once: what may have been
// counted is not counted again.
type Pipeline struct {
	client  redis.UniversalClient
	auto    *redis.AutoPipeliner
	timeout time.Duration
	// deadline is that of everything sent in the same moment.
	deadline sharedDeadline
}

// OpenPipeline connects to the Redis at a URL, as Open does. The bounds are those of
// the connection: the pipeline itself does not look at the deadline of a command
// once it is queued.
func OpenPipeline(redisURL string, timeout time.Duration) (*Pipeline, error) {
	e, err := parseURL(redisURL)
	if err != nil {
		return nil, err
	}
	e.bound(pipelineDialTimeout, timeout)
	client := e.client()
	options := redis.DefaultAutoPipelineOptions()
	options.MaxQueuedCommands = maxQueuedCommands
	auto, err := client.AsyncAutoPipelineWithOptions(options)
	if err != nil {
		return nil, fmt.Errorf("open a pipeline: %w", err)
	}
	return &Pipeline{client: client, auto: auto, timeout: timeout}, nil
}

// Send queues commands, which go to Redis together, and waits for them all. The
// error is that of waiting: after one the commands must not be looked at. Each has
// its own error besides.
func (p *Pipeline) Send(ctx context.Context, commands ...redis.Cmder) error {
	var room [2]redis.AutoFuture
	waiting := room[:0]
	for _, command := range commands {
		waiting = append(waiting, p.auto.Submit(ctx, command))
	}
	until := p.deadline.within(p.timeout)
	for _, future := range waiting {
		if err := future.WaitContext(until); err != nil && until.Err() != nil { //nolint:contextcheck // one deadline for all who wait
			return fmt.Errorf("%w: %w", ErrUnavailable, until.Err())
		}
	}
	return nil
}

// sharedDeadline is a context that ends at about the same time for all who wait. A
// timer for each of them would cost more than sending their commands does.
type sharedDeadline struct {
	current atomic.Pointer[deadlineContext]
}

type deadlineContext struct {
	context.Context

	made time.Time
}

// within returns a context that ends after a while, or up to an eighth of it later.
func (s *sharedDeadline) within(while time.Duration) context.Context {
	now := time.Now()
	if held := s.current.Load(); held != nil && now.Sub(held.made) < while/8 {
		return held
	}
	ctx, cancel := context.WithTimeout(context.Background(), while+while/8)
	fresh := &deadlineContext{Context: ctx, made: now}
	context.AfterFunc(ctx, cancel)
	s.current.Store(fresh)
	return fresh
}

// Commands is the client behind the pipeline, for what needs no bound.
func (p *Pipeline) Commands() redis.Cmdable {
	return p.client
}

// Close ends the connections.
func (p *Pipeline) Close() error {
	if err := p.auto.Close(); err != nil {
		return fmt.Errorf("close a pipeline: %w", err)
	}
	return p.client.Close()
}
