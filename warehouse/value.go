package warehouse

import (
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/shopspring/decimal"

	"pnyx/governance"
)

// timeOrNull returns the value of a nullable time column.
func timeOrNull(stamp *governance.Timestamp) *time.Time {
	if stamp == nil {
		return nil
	}
	moment := stamp.Time()
	return &moment
}

// timestampOf is the reverse of timeOrNull.
func timestampOf(moment *time.Time) *governance.Timestamp {
	if moment == nil {
		return nil
	}
	stamp := governance.TimestampOf(*moment)
	return &stamp
}

// nonNilDecimals returns the value of an array column. The driver rejects a nil slice.
func nonNilDecimals(numbers []decimal.Decimal) any {
	if numbers == nil {
		return noDecimals
	}
	return numbers
}

// noDecimals is shared because nearly every ballot has two empty arrays.
var noDecimals any = []decimal.Decimal{} //nolint:gochecknoglobals // a constant that Go cannot write as one

// nonNilTexts returns the value of an array column. The driver rejects a nil slice.
func nonNilTexts[Text ~string](values []Text) []string {
	all := make([]string, len(values))
	for i, value := range values {
		all[i] = string(value)
	}
	return all
}

// textOrEmpty returns the value of a text column; empty for nil.
func textOrEmpty[Text ~string](text *Text) string {
	if text == nil {
		return ""
	}
	return string(*text)
}

func boolNumber(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// unknownTime represents an unknown time in sorted_ballots. It is earlier than every
// known time.
var unknownTime = time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC) //nolint:gochecknoglobals // a constant that Go cannot write as one

// unknownTimeSQL is unknownTime in SQL, where bindUnknownTime is among the parameters.
const unknownTimeSQL = "{no_time:DateTime64(3, 'UTC')}"

func bindUnknownTime() driver.NamedValue {
	return clickhouse.Named("no_time", unknownTime.Format(time.DateTime))
}

// timeOrUnknown returns the value of a time column that is not nullable.
func timeOrUnknown(stamp *governance.Timestamp) time.Time {
	if stamp == nil {
		return unknownTime
	}
	return stamp.Time()
}
