package forum_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"pnyx/test/env"
)

// actAtRandom makes one of the changes that a forum knows.
func (f *fixture) actAtRandom(random *rand.Rand, topics *int) {
	id := 1 + random.IntN(*topics)
	text := fmt.Sprint("text ", random.IntN(1000))
	author := fmt.Sprint("author", random.IntN(5))
	changes := []func(){
		func() { *topics = f.AddTopic(1, "Topic "+text, author, "<p>"+text+"</p>", "budget") },
		func() { f.Reply(id, author, "<p>"+text+"</p>") },
		func() { f.EditFirst(id, "<p>"+text+"</p>") },
		func() { f.Retitle(id, "Retitled "+text) },
		func() { f.Like(id, random.IntN(5)) },
		func() { f.View(id, random.IntN(50)) },
		func() { f.Tag(id, text) },
		func() { f.Close(id) },
		func() { f.Archive(id) },
		func() { f.Hide(id) },
		func() { f.Unlist(id, true) },
		func() { f.Unlist(id, false) },
		func() { f.Delete(id) },
		func() { f.Restore(id) },
	}
	changes[random.IntN(len(changes))]()
}

// TestLiveIsFromNothing acts at random on a forum that is followed meanwhile. In the end it holds
// what a follower holds that starts from nothing then, which is what the forum shows. Such a one
// lacks what the forum has forgotten: topics that were deleted or hidden.
func TestLiveIsFromNothing(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			live, random := newFixture(t), rand.New(rand.NewPCG(seed, 0))
			topics := 0
			for range 3 {
				topics = live.AddTopic(1, fmt.Sprint("First ", topics), "ada", "<p>one</p>")
			}
			for range 60 {
				live.actAtRandom(random, &topics)
				if random.IntN(10) == 0 {
					live.restart()
				}
				live.follow(time.Duration(1+random.IntN(10)) * time.Minute)
			}
			live.clock.Step(24 * time.Hour) // likes, views and edits of old topics are read daily
			live.follow(2 * time.Hour)
			live.wantTruth()
			late := &fixture{
				Forum: live.Forum, t: t, clock: live.clock, address: live.address, warehouse: env.Warehouse(t), answers: live.answers,
			}
			late.restart()
			late.follow(2 * time.Hour)
			env.WantSame(t, "who followed live, and who starts from nothing", live.shown(), late.shown())
		})
	}
}
