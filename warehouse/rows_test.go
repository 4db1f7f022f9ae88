package warehouse

import "testing"

func TestColumnNameOfField(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ field, column string }{
		{"Title", "title"},
		{"DAOID", "dao_id"},
		{"SourceURL", "source_url"},
		{"ExternalID", "external_id"},
		{"BodyHTML", "body_html"},
		{"URL", "url"},
		{"TxHash", "tx_hash"},
		{"LastPostAt", "last_post_at"},
	} {
		t.Run(test.field, func(t *testing.T) {
			t.Parallel()
			if got := snakeCase(test.field); got != test.column {
				t.Errorf("got %s, want %s", got, test.column)
			}
		})
	}
}
