package fill

import "testing"

func TestBallotsOfChoicesThatDoNotExistAreInvalid(t *testing.T) {
	t.Parallel()
	labels := map[string]string{"1": "A", "2": "B", "3": "C"}
	for raw, want := range map[string]string{
		"4": "4 invalid", "1": "A", "[1,4]": "[1,4] invalid", "[1,1]": "[1,1] invalid", "[]": "None", "[3,1]": "C, A",
		`{"1":1,"5":2}`: `{"1":1,"5":2} invalid`, `{"1":1,"2":1}`: "50% for A, 50% for B", `"for"`: "Choice for",
	} {
		label, invalid := describeBallot(raw, labels)
		if invalid {
			label += " invalid"
		}
		if label != want {
			t.Errorf("%s: got %s, want %s", raw, label, want)
		}
	}
	if label, invalid := describeBallot("4", nil); invalid || label != "Choice 4" {
		t.Errorf("without known choices: got %s, %t, want Choice 4", label, invalid)
	}
}
