package governance_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"pnyx/governance"
)

func TestIntelligenceRoundTripsUnchanged(t *testing.T) {
	t.Parallel()
	dossier := `{"b":1234567890.123456789012345678,"a":1.10e2,"b":"<&>\u2028","é":[]}`
	stored, err := msgpack.Marshal(governance.Intelligence{Dossier: json.RawMessage(dossier), SourceRefs: json.RawMessage("[0.10]")})
	if err != nil {
		t.Fatal(err)
	}
	var read governance.Intelligence
	if err := msgpack.Unmarshal(stored, &read); err != nil {
		t.Fatal(err)
	}
	var sent bytes.Buffer
	encoder := json.NewEncoder(&sent)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(read); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"dossier":` + dossier, `"sourceRefs":[0.10]`} {
		if !strings.Contains(sent.String(), want) {
			t.Errorf("got %s, want %s in it", sent.String(), want)
		}
	}
}

func TestNoIntelligenceIsUnavailable(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(governance.NoIntelligence())
	want := `{"status":"unavailable","artifactVersion":null,"generatedAt":null,"dossier":null,"sourceRefs":[],"warnings":[]}`
	if err != nil || string(got) != want {
		t.Errorf("got %s (%v), want %s", got, err, want)
	}
}
