package histories

import "fmt"

// checkDeliveries checks that each event of the feed reaches the receiver, and no other message does.
func checkDeliveries(h History, _ Setting) (problems []string) {
	published, delivered := map[string]bool{}, map[string]bool{}
	for _, event := range h.of(Publish) {
		published[event.Subject] = true
	}
	for _, message := range h.of(Deliver) {
		delivered[message.Subject] = true
		if !published[message.Subject] {
			problems = append(problems, fmt.Sprintf("message %s is of no event in the feed", message.Subject))
		}
	}
	for _, event := range h.of(Publish) {
		if !delivered[event.Subject] {
			problems = append(problems, fmt.Sprintf("event %s was not delivered", event.Subject))
		}
	}
	return problems
}

// checkCopies checks that who follows the changes has everything in the end.
func checkCopies(h History, _ Setting) (problems []string) {
	for _, made := range h.of(Copy) {
		if len(made.Rows) != 1 || made.Casts != made.Rows[0] {
			problems = append(problems, fmt.Sprintf("a copy by changes has %d ballots of %v", made.Casts, made.Rows))
		}
	}
	return problems
}
