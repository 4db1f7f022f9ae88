package api_test

import (
	"testing"

	"pnyx/api"
	"pnyx/api/routes"
	"pnyx/governance"
)

func TestMetaEncodesAsEncodingJSONDoes(t *testing.T) {
	t.Parallel()
	cursor := "EDuh5eTB9Cmn-_"
	for name, page := range map[string]*routes.Page{
		"no list": nil, "the last page": {Limit: 25}, "a page": {Limit: 500, HasMore: true, NextCursor: &cursor},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, want, err := api.MetaTexts("4bf92f35-77b3", governance.TimestampOf(noon), dataAsOf, governance.Stale, page)
			if err != nil {
				t.Fatal(err)
			}
			if got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}
