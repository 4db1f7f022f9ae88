package fetch_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pnyx/fetch"
)

type answered struct {
	ID    string `json:"id"`
	Space struct {
		ID string `json:"id"`
	} `json:"space"`
	Rows []json.RawMessage `json:"rows"`
	List []struct {
		Name string `json:"name"`
	} `json:"list"`
	At *time.Time `json:"at"`
}

func TestAttackAnAnswerThatTwoReadersReadDifferentlyIsRefused(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a key twice":                    `{"space":{"id":"a"},"space":{"id":"b"}}`,
		"a key twice, once escaped":      `{"space":{"id":"a"},"sp\u0061ce":{"id":"b"}}`,
		"a key in two cases":             `{"space":{"id":"a"},"Space":{"id":"b"}}`,
		"a key in another case":          `{"SPACE":{"id":"a"}}`,
		"a key with the letter long s":   "{\"\u017fpace\":{\"id\":\"a\"}}",
		"within a list":                  `{"list":[{"name":"a"},{"Name":"b"}]}`,
		"a key twice where nobody looks": `{"rows":[{"x":{"y":1,"y":2}}]}`,
		"deep arrays":                    `{"rows":` + strings.Repeat("[", 1<<20) + strings.Repeat("]", 1<<20) + `}`,
		"open arrays":                    strings.Repeat("[", 32<<20),
		"deep objects":                   strings.Repeat(`{"a":`, 1000) + "1" + strings.Repeat("}", 1000),
		"many values":                    `{"rows":[` + strings.Repeat("1,", 1<<21) + `1]}`,
		"not UTF-8":                      "{\"id\":\"\xff\"}",
		"two answers":                    `{"id":"a"}{"id":"b"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var into answered
			if err := fetch.Decode([]byte(text), &into); err == nil {
				t.Errorf("got %+v, want a refusal", into)
			} else if len(err.Error()) > 500 {
				t.Errorf("got an error of %d bytes", len(err.Error()))
			}
		})
	}
}

func TestAnAnswerIsDecoded(t *testing.T) {
	t.Parallel()
	var into answered
	text := ` {"id" : "a\"}{", "unknown": {"ID": 1, "id": [2, {}]}, "space":{"id":"b"}, "rows":[ 1, "x", {"Q":null} ],"list":[],"at":"2026-03-04T05:06:07Z"} `
	if err := fetch.Decode([]byte(text), &into); err != nil || into.ID != `a"}{` || into.Space.ID != "b" || len(into.Rows) != 3 || into.At == nil {
		t.Errorf("got %+v, %v", into, err)
	}
}

// FuzzDecode compares with a reader that takes the keys as they are.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"id":"a","space":{"id":"b"},"rows":[1,{}],"list":[{"name":"c"}]}`))
	f.Add([]byte(`{"id":"a","ID":"b"}`))
	f.Add([]byte(`{"id":"\ud800"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var into answered
		if fetch.Decode(text, &into) != nil {
			return
		}
		var exact map[string]any
		if err := json.Unmarshal(text, &exact); err != nil {
			t.Fatalf("decoded what is no object: %q", text)
		}
		if id, _ := exact["id"].(string); id != into.ID {
			t.Errorf("got id %q, want %q of %q", into.ID, id, text)
		}
		space, _ := exact["space"].(map[string]any)
		if id, _ := space["id"].(string); id != into.Space.ID {
			t.Errorf("got space %q, want %q of %q", into.Space.ID, id, text)
		}
	})
}

func TestNumbersAndTimesOfAnswersAreReadInAnyNotation(t *testing.T) {
	t.Parallel()
	type item struct {
		Votes fetch.Count   `json:"votes"`
		End   fetch.Seconds `json:"end"`
	}
	for text, want := range map[string]item{
		`{"votes":5,"end":1700000000}`:                       {5, 1700000000},
		`{"votes":5.0,"end":1700000000.0}`:                   {5, 1700000000},
		`{"votes":"5","end":"1700000000"}`:                   {5, 1700000000},
		`{"votes":0.5e1,"end":1.7e9}`:                        {5, 1700000000},
		`{"votes":18446744073709551615,"end":1700000000250}`: {18446744073709551615, 1700000000},
		`{"votes":null,"end":null}`:                          {},
		`{"end":1700000000.75}`:                              {0, 1700000000},
		`{"votes":"500e-2","end":"1700000000000000000"}`:     {5, 1700000000},
		`{"votes":5.5,"end":7}`:                              {0, 7}, `{"votes":-1,"end":-1}`: {}, `{"end":"soon","votes":5}`: {5, 0}, `{"votes":[5],"end":{}}`: {},
		`{"votes":1e999999999,"end":1e999999999}`: {},
	} {
		var got item
		if err := fetch.Decode([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", text, got, err, want)
		}
	}
}
