package histories

import "fmt"

// Setting is what models need to know of the deployment.
type Setting struct {
	Nodes int
	// Voters is the number of voters of the vote: ballot n replaces ballot n-Voters.
	Voters int
	// Burst and PerSecond describe the bucket of tokens whose month is checked.
	Burst     int
	PerSecond float64
}

// Model checks a history and returns what it rules out.
type Model struct {
	Name  string
	Check func(History, Setting) []string
}

// Models returns all models.
func Models() []Model {
	return []Model{
		{"answers", checkAnswers},
		{"quota", checkQuotas},
		{"tokens", checkTokens},
		{"revisions", checkRevisions},
		{"etags", checkETags},
		{"walks", checkWalks},
		{"exports", checkExports},
		{"payments", checkPayments},
		{"webhooks", checkDeliveries},
		{"changes", checkCopies},
		{"sources", checkSources},
	}
}

// Check returns all violations of a history.
func Check(h History, s Setting) (all []Violation) {
	for _, model := range Models() {
		for _, problem := range model.Check(h, s) {
			all = append(all, Violation{Model: model.Name, Problem: problem})
		}
	}
	return all
}

// checkAnswers reports answers that contradict themselves.
func checkAnswers(h History, _ Setting) (problems []string) {
	for i := range h {
		if h[i].Wrong != "" {
			problems = append(problems, fmt.Sprintf("%s: %s", &h[i], h[i].Wrong))
		}
	}
	return problems
}
