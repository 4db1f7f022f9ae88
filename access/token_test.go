package access_test

import (
	"errors"
	"strings"
	"testing"

	"pnyx/access"
	"pnyx/test/env"
)

func TestATokenNamesItsRecord(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 1000 {
		id := access.NewTokenID()
		token := access.GenerateToken(id)
		if got, err := access.ParseToken(token); err != nil || got != id {
			t.Fatalf("parse %s: got %q, %v, want %q", token, got, err, id)
		}
		if !strings.HasPrefix(token, "pnyx_"+id+"_") || len(token) != 67 || seen[id] || seen[token] {
			t.Fatalf("got the token %s of %s, want 67 characters that nobody had before", token, id)
		}
		seen[id], seen[token] = true, true
	}
}

func TestAMistypedTokenIsMalformed(t *testing.T) {
	t.Parallel()
	token := access.GenerateToken(access.NewTokenID())
	for i := range token {
		for _, other := range []byte{'0', 'z', '_', ' ', 0, 0xff} {
			if token[i] == other {
				continue
			}
			wantMalformed(t, token[:i]+string([]byte{other})+token[i+1:])
		}
		wantMalformed(t, token[:i])
		wantMalformed(t, token[:i]+token[i+1:])
		wantMalformed(t, token[:i]+"0"+token[i:])
	}
	wantMalformed(t, strings.ToUpper(token))
	wantMalformed(t, token+token)
}

func wantMalformed(t *testing.T, token string) {
	t.Helper()
	id, err := access.ParseToken(token)
	if !errors.Is(err, access.ErrUnauthorized) || id != "" {
		t.Errorf("%q: got %q, %v, want %v", token, id, err, access.ErrUnauthorized)
	}
	if len(token) > 8 && strings.Contains(err.Error(), token[6:]) {
		t.Errorf("the error quotes the token: %v", err)
	}
}

func FuzzParseToken(f *testing.F) {
	f.Add("")
	f.Add(access.GenerateToken("000000000000"))
	f.Fuzz(func(t *testing.T, token string) {
		id, err := access.ParseToken(token)
		if err == nil && !strings.HasPrefix(token, "pnyx_"+id+"_") {
			t.Errorf("%q has the id %q", token, id)
		}
	})
}

func TestAttackScopesOpenOnlyWhatTheySay(t *testing.T) {
	t.Parallel()
	for scopes, want := range map[string]string{
		"v2:paid:standard":               "standard",
		"v2:paid:plus":                   "standard plus",
		"v2:paid:*":                      "standard plus",
		"v1:paid:standard":               "",
		"v1:paid:plus":                   "",
		"v1:paid:*":                      "",
		"v1:paid:*,v2:paid:standard":     "standard",
		"v2:paid:standard, v2:paid:plus": "standard plus",
	} {
		t.Run(scopes, func(t *testing.T) {
			t.Parallel()
			parsed := env.Must(access.ParseScopes(scopes))(t)
			caller := access.Caller{Scopes: parsed}
			var got []string
			for _, scope := range []access.Scope{access.V2Standard, access.V2Plus} {
				if caller.HasScope(scope) {
					got = append(got, strings.TrimPrefix(string(scope), "v2:paid:"))
				}
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s opens %v, want %q", scopes, got, want)
			}
		})
	}
	for _, unknown := range []string{"", "*", "v2:paid", "v3:paid:*", "v2:paid:standard,", "V2:paid:plus"} {
		if got, err := access.ParseScopes(unknown); err == nil {
			t.Errorf("%q: got %v, want it refused", unknown, got)
		}
	}
}

func TestInternalTokensOneOrTwo(t *testing.T) {
	t.Parallel()
	const one, two = "one-internal-token-of-the-tests-1", "two-internal-tokens-of-the-tests"
	nobody, both := access.NewInternalTokens(nil), access.NewInternalTokens([]string{one, two})
	for _, token := range []string{"", one, two, "x"} {
		if nobody.Accepts(token) {
			t.Errorf("without a setting %q is accepted", token)
		}
		env.Want(t, token == one || token == two, both.Accepts(token), token, "accepted")
	}
}
