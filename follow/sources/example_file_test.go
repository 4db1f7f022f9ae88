package sources_test

import (
	"testing"

	"pnyx/follow/sources"
)

func TestTheExampleIsValidAndNeedsNoKey(t *testing.T) {
	t.Parallel()
	file, err := sources.Load("../../docs/sources.example.yaml", func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	if got := len(file.DAOs); got != 10 {
		t.Errorf("got %d DAOs, want ten", got)
	}
	for _, dao := range file.DAOs {
		for _, governor := range dao.Governors {
			if governor.FirstBlock == 0 {
				t.Errorf("%s: %s has no first block, which endpoints without an archive need", dao.ID, governor.ID)
			}
		}
	}
}
