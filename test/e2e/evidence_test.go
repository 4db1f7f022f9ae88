package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"pnyx/test/env"
)

func TestImportedEvidenceIsServedUnchanged(t *testing.T) {
	t.Parallel()
	env.RequireEngine(t)
	i := startShared(t, nil, "serve").ready()
	const line = `{"record":"evidence","version":1,"proposal":{"provider":"snapshot","externalId":"0xp"},"artifactVersion":"%d",` +
		`"generatedAt":"2026-03-02","dossier":%s,"sourceRefs":[{"page":1.50}],"warnings":["One."]}`
	path := "/v2/proposals/" + proposalKey("a.eth", "0xp") + "/evidence"
	served := func(version int, dossier string) {
		t.Helper()
		want := fmt.Sprintf(`"analyses":[{"artifactVersion":"%d","generatedAt":"2026-03-02T00:00:00.000Z",`+
			`"dossier":%s,"sourceRefs":[{"page":1.50}],"warnings":["One."]}]`, version, dossier)
		env.Until(t, func() error {
			status, body, err := env.Fetch(i.URL + path)
			if err == nil && !strings.Contains(string(body), want) {
				err = fmt.Errorf("GET %s: %d %s, want %s in it", path, status, body, want)
			}
			return err
		})
	}
	// The evidence arrives before its proposal, and again after it.
	i.ImportLines(fmt.Sprintf(line, 1, `{"total":1234567890.123456789012345678,"name":"<Åland>"}`))
	i.ImportLines(goodProposal)
	served(1, `{"total":1234567890.123456789012345678,"name":"<Åland>"}`)
	i.ImportLines(fmt.Sprintf(line, 2, `{"total":0.10,"big":123456789012345678901234567890}`))
	served(2, `{"total":0.10,"big":123456789012345678901234567890}`)
}
