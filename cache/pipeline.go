package cache

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Pipeline sends the commands of many goroutines in shared round trips. A command waits at most for the timeout.
// It is never retried: a command that counts must not count twice. It is safe for concurrent use.
type Pipeline struct {
	// client is a redis.UniversalClient, auto its *redis.AutoPipeliner: see Conn.
	client, auto any
	timeout      time.Duration
}

// OpenPipeline connects to the Redis at a URL, as Open does. The timeout is set on the
// connection, because the pipeline ignores the deadline of a command that is queued.
func OpenPipeline(redisURL string, timeout time.Duration) (*Pipeline, error) {
	const pipelineDialTimeout = time.Second // bounds how long a connection attempt delays other commands
	const maxQueuedCommands = 10_000        // bounds the commands that wait for a Redis that hangs
	e, err := parseURL(redisURL, map[string]string{
		"dial_timeout": pipelineDialTimeout.String(), "read_timeout": timeout.String(), "write_timeout": timeout.String(), "max_retries": "-1",
	})
	if err != nil {
		return nil, err
	}
	client := e()
	options := redis.DefaultAutoPipelineOptions()
	options.MaxQueuedCommands = maxQueuedCommands
	auto, err := client.AsyncAutoPipelineWithOptions(options)
	if err != nil {
		return nil, fmt.Errorf("open a pipeline: %w", err)
	}
	return &Pipeline{client: client, auto: auto, timeout: timeout}, nil
}

// Send queues commands for one round trip and waits for all of them. After an error, which is ErrUnavailable,
// the commands must not be read. Otherwise each has a result or an error of its own.
func Send(ctx context.Context, p *Pipeline, commands ...redis.Cmder) error {
	auto := autoPipeliner(p)
	var room [2]redis.AutoFuture
	waiting := room[:0]
	for _, command := range commands {
		waiting = append(waiting, auto.Submit(ctx, command))
	}
	until, cancel := context.WithTimeout(context.Background(), p.timeout)
	defer cancel()
	for _, future := range waiting {
		if err := future.WaitContext(until); err != nil && until.Err() != nil { //nolint:contextcheck // what is sent is waited for
			return fmt.Errorf("%w: %w", ErrUnavailable, until.Err())
		}
	}
	return nil
}

// PipelineClient returns the client of a pipeline, for commands without a time limit.
func PipelineClient(p *Pipeline) redis.UniversalClient {
	return p.client.(redis.UniversalClient) //nolint:errcheck,forcetypeassert // OpenPipeline has set it
}

func autoPipeliner(p *Pipeline) *redis.AutoPipeliner {
	return p.auto.(*redis.AutoPipeliner) //nolint:errcheck,forcetypeassert // OpenPipeline has set it
}

// Close closes the connections.
func (p *Pipeline) Close() error {
	if err := autoPipeliner(p).Close(); err != nil {
		return fmt.Errorf("close a pipeline: %w", err)
	}
	return PipelineClient(p).Close()
}
