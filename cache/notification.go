package cache

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"pnyx/backoff"
)

// Notification tells API nodes what was published.
type Notification struct {
	// Number counts notifications from 1, so that a node sees when it has missed one. Zero means
	// that any number may have been missed: the connection was down, or the sender does not count.
	Number uint64
	Tags   []Tag
}

// notify counts a notification and sends it. A node that reads the count has got the message or is about to.
// KEYS: count. ARGV: channel, tags.
var notify = redis.NewScript(`
local number = redis.call('INCR', KEYS[1])
return redis.call('PUBLISH', ARGV[1], string.format('%.0f', number) .. ' ' .. ARGV[2])`)

// Notify tells API nodes that everything with one of the tags was published; without tags, to read what else
// they poll. Nodes that miss the message find out with the next one, or when they poll.
func (s *Store) Notify(ctx context.Context, tags []Tag) error {
	names := make([]string, len(tags))
	for i, tag := range tags {
		names[i] = string(tag)
	}
	keys := []string{string(notificationsKey)}
	return WrapError(notify.Run(ctx, Client(s.conn), keys, string(publishedChannel), strings.Join(names, " ")).Err())
}

// Subscribe calls received after each publication until ctx ends, and with the zero Notification whenever the
// connection is made: messages that are sent while it is down are lost.
func (s *Store) Subscribe(ctx context.Context, received func(Notification)) {
	lost := func() { received(Notification{}) }
	subscribe(ctx, s, publishedChannel, lost, func(message string) { received(decodeNotification(message)) })
}

func decodeNotification(message string) Notification {
	text, names, _ := strings.Cut(message, " ")
	number, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return Notification{}
	}
	n := Notification{Number: number}
	for name := range strings.FieldsSeq(names) {
		n.Tags = append(n.Tags, Tag(name))
	}
	return n
}

// PublicationProgress returns PublicationState and the number of the last Notification, zero for none, together.
func (s *Store) PublicationProgress(ctx context.Context) (PublicationState, uint64, error) {
	var state, number *redis.StringCmd
	_ = Pipelined(ctx, s.conn, func(pipe redis.Pipeliner) {
		number = pipe.Get(ctx, string(notificationsKey))
		state = pipe.Get(ctx, string(publicationKey))
	}) // each command has its error
	count, err := number.Uint64()
	if err := WrapError(err); err != nil && !errors.Is(err, ErrMiss) {
		return PublicationState{}, 0, err
	}
	published, err := decodePublicationState(state)
	return published, count, err
}

// NotifyCommitted tells the leader that a batch was committed. A leader that is not told finds the batch later.
func (s *Store) NotifyCommitted(ctx context.Context) error {
	ctx, cancel := s.conn.WithTimeout(ctx)
	defer cancel()
	return WrapError(Client(s.conn).Publish(ctx, string(committedChannel), "").Err())
}

// SubscribeCommitted calls received after committed batches and whenever the connection is made, until ctx ends.
func (s *Store) SubscribeCommitted(ctx context.Context, received func()) {
	subscribe(ctx, s, committedChannel, received, func(string) { received() })
}

// subscriptionCheckInterval is the time between two checks of a subscription that receives nothing.
const subscriptionCheckInterval = 15 * time.Second

// subscribe calls received with each message of a channel, and connected whenever the connection is made, until
// ctx ends. It repeats a refused subscription: the client takes such a connection for a good one.
func subscribe(ctx context.Context, s *Store, channel Key, connected func(), received func(message string)) {
	const firstPause = 100 * time.Millisecond
	for pause := firstPause; ctx.Err() == nil; pause = backoff.Next(pause) {
		receive(ctx, Client(s.conn).Subscribe(ctx, string(channel)), func() { pause = firstPause; connected() }, received)
		backoff.Wait(ctx, backoff.Jitter(pause))
	}
}

// receive is subscribe until the first error. It closes the subscription.
func receive(ctx context.Context, subscription *redis.PubSub, connected func(), received func(message string)) {
	defer subscription.Close()
	defer context.AfterFunc(ctx, func() { subscription.Close() })()
	for pinged := false; ; {
		message, err := subscription.ReceiveTimeout(ctx, subscriptionCheckInterval)
		var timeout net.Error
		switch {
		case err == nil:
			pinged = false
		case pinged || !errors.As(err, &timeout) || !timeout.Timeout() || subscription.Ping(ctx) != nil:
			return
		default:
			pinged = true
		}
		switch message := message.(type) {
		case *redis.Subscription:
			connected()
		case *redis.Message:
			received(message.Payload)
		}
	}
}
