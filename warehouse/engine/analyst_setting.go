package engine

import (
	"cmp"
	_ "embed" // changeable_settings.txt
	"fmt"
	"strconv"
	"strings"
	"time"
)

// AnalystSetting is a setting of ClickHouse in the profile of AnalystUser. The user asks with
// readonly = 1, under which no setting can be changed but those that the profile names:
// what the engine of another version has more is closed.
type AnalystSetting struct {
	Name string
	// Value is what queries have unless they change it; empty means ClickHouse's default.
	Value string
	// Fixed says that no query may change it.
	Fixed bool
	// Min and Max are the bounds of a change; empty means none.
	Min, Max string
}

// AnalystSettings returns the profile of AnalystUser. It is in the configuration of the
// engine, in the statements for another server, and in what the address of analysts accepts.
func AnalystSettings(limits AnalystLimits) []AnalystSetting {
	const analystUserQueries = 16 // bounds the queries of AnalystUser that run at the same time
	limits = limits.withDefaults()
	settings := []AnalystSetting{
		{Name: "readonly", Value: "1", Fixed: true},
		// The maximum has room for the 5 s that clickhouse-go adds to a deadline. Zero, which
		// means no limit, is below each minimum. A cut result would be wrong.
		{Name: "max_execution_time", Value: seconds(limits.Time), Min: "0.001", Max: seconds(limits.Time + 5*time.Second)},
		{Name: "max_memory_usage", Value: number(limits.Memory), Min: "1", Max: number(limits.Memory)},
		{Name: "max_result_rows", Value: number(limits.Rows), Min: "1", Max: number(limits.Rows)},
		{Name: "max_result_bytes", Value: number(limits.Memory), Min: "1", Max: number(limits.Memory)},
		{Name: "result_overflow_mode", Value: "throw", Fixed: true},
		{Name: "timeout_overflow_mode", Value: "throw", Fixed: true},
		{Name: "max_threads", Min: "1", Max: "64"},
		// primes(10^18, 1) counts them without a look at the time, or at the client who has left.
		{Name: "max_rows_to_read", Value: number(1_000_000_000), Fixed: true},
		{Name: "max_temporary_data_on_disk_size_for_query", Value: number(4 * limits.Memory), Fixed: true},
		// The user as a whole.
		{Name: "max_memory_usage_for_user", Value: number(2 * limits.Memory), Fixed: true},
		{Name: "max_temporary_data_on_disk_size_for_user", Value: number(8 * limits.Memory), Fixed: true},
		{Name: "max_concurrent_queries_for_user", Value: number(analystUserQueries), Fixed: true},
		{Name: "max_sessions_for_user", Value: "256", Fixed: true},
		{Name: "max_network_bandwidth_for_user", Value: number(1 << 30), Fixed: true},
		// A client that leaves ends its query.
		{Name: "cancel_http_readonly_queries_on_client_close", Value: "1"},
		// Conditions on the right side of a join select the granules of the left: the ballots
		// of one proposal.
		{Name: "enable_join_runtime_filters_index_analysis", Value: "1"},
		// The optimizer asks for parts of columns that a view does not have: IS NULL and count fail.
		{Name: "optimize_functions_to_subcolumns", Value: "0", Fixed: true},
		// Reordered joins of three views may have a column twice, and fail.
		{Name: "query_plan_optimize_join_order_limit", Value: "0", Fixed: true},
	}
	for name := range strings.FieldsSeq(changeableSettings) {
		settings = append(settings, AnalystSetting{Name: name})
	}
	return settings
}

// changeableSettings are what a query may have as it likes: how a query is understood, how a
// result is written, and how it is sent. None of them names a file, a format's schema or an
// address.
//
//go:embed changeable_settings.txt
var changeableSettings string

// AnalystSettingNames returns the settings that a query of AnalystUser may change.
func AnalystSettingNames() []string {
	var names []string
	for _, setting := range AnalystSettings(AnalystLimits{}) {
		if !setting.Fixed {
			names = append(names, setting.Name)
		}
	}
	return names
}

// SQL returns the setting as CREATE SETTINGS PROFILE has it.
func (s AnalystSetting) SQL() string {
	var text strings.Builder
	text.WriteString(s.Name)
	for _, part := range []struct{ before, value string }{{" = ", s.Value}, {" MIN ", s.Min}, {" MAX ", s.Max}} {
		if _, err := strconv.ParseFloat(part.value, 64); err != nil && part.value != "" {
			part.value = "'" + part.value + "'"
		}
		if part.value != "" {
			text.WriteString(part.before + part.value)
		}
	}
	if s.Fixed {
		return text.String() + " CONST"
	}
	return text.String() + " CHANGEABLE_IN_READONLY"
}

// withDefaults returns the limits with defaults in place of zeros.
func (l AnalystLimits) withDefaults() AnalystLimits {
	return AnalystLimits{
		Time: cmp.Or(l.Time, 30*time.Second), Memory: cmp.Or(l.Memory, 2<<30), Rows: cmp.Or(l.Rows, 1_000_000),
	}
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }

func number[N int | int64](n N) string { return fmt.Sprint(n) }
