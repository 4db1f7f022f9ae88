package fetch_test

import (
	"testing"

	"pnyx/fetch"
)

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
