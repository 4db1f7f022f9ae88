package warehouse

import (
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/shopspring/decimal"

	"pnyx/governance"
)

// TimeOrNull returns the value of a nullable time column.
func TimeOrNull(stamp *governance.Timestamp) *time.Time {
	if stamp == nil {
		return nil
	}
	moment := stamp.Time()
	return &moment
}

// NonNilDecimals returns the value of an array column. The driver rejects a nil slice.
func NonNilDecimals(numbers []decimal.Decimal) []decimal.Decimal {
	return append([]decimal.Decimal{}, numbers...)
}

// NonNilTexts returns the value of an array column. The driver rejects a nil slice.
func NonNilTexts[Text ~string](values []Text) []string {
	all := make([]string, len(values))
	for i, value := range values {
		all[i] = string(value)
	}
	return all
}

// TextOrEmpty returns the value of a text column; empty for nil.
func TextOrEmpty[Text ~string](text *Text) string {
	if text == nil {
		return ""
	}
	return string(*text)
}

// unknownTime represents an unknown time in sorted_ballots. It is earlier than every known time.
var unknownTime = time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC) //nolint:gochecknoglobals // a constant that Go cannot write as one

// UnknownTimeSQL is unknownTime in SQL, where BindUnknownTime is among the parameters.
const UnknownTimeSQL = "{no_time:DateTime64(3, 'UTC')}"

// BindUnknownTime returns the parameter that UnknownTimeSQL names.
func BindUnknownTime() driver.NamedValue {
	return clickhouse.Named("no_time", unknownTime.Format(time.DateTime))
}

// TimeOrUnknown returns the value of a time column that is not nullable.
func TimeOrUnknown(stamp *governance.Timestamp) time.Time {
	if stamp == nil {
		return unknownTime
	}
	return stamp.Time()
}
