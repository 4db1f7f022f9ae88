package histories

import "fmt"

// checkPayments checks that no request is answered without a payment, that a payment moves money once and buys one
// answer, and that who was charged is answered in the end.
func checkPayments(h History, _ Setting) (problems []string) {
	transfers, answers := map[string]*Operation{}, map[string]*Operation{}
	for _, transfer := range h.of(Transfer) {
		if transfers[transfer.Subject] != nil {
			problems = append(problems, fmt.Sprintf("payment %s moved money twice", transfer.Subject))
		}
		transfers[transfer.Subject] = transfer
	}
	for _, pay := range h.of(Pay) {
		if pay.Status != 200 {
			continue
		}
		transfer := transfers[pay.Subject]
		if transfer == nil || transfer.Call > pay.Return {
			problems = append(problems, fmt.Sprintf("%s: answered before anybody was charged", pay))
		}
		if first := answers[pay.Subject]; first == nil {
			answers[pay.Subject] = pay
		} else if lost := h.during(first.Call, pay.Return, func(f *Operation) bool { return f.Redis }); first.Path != pay.Path ||
			first.Body != pay.Body && len(lost) == 0 {
			problems = append(problems, fmt.Sprintf("%s: another answer than %s", pay, first))
		}
	}
	for _, transfer := range h.of(Transfer) {
		if answers[transfer.Subject] == nil {
			problems = append(problems, fmt.Sprintf("payment %s was charged and never answered", transfer.Subject))
		}
	}
	return problems
}
