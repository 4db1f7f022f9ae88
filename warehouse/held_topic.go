package warehouse

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"pnyx/warehouse/record"
)

// HeldTopics returns the records of a forum's topics as they were written last, withdrawn
// ones included, in order of their text. Unknown topics are left out. The first posts are
// read only for whole records.
func (w *Warehouse) HeldTopics(ctx context.Context, host string, ids []string, whole bool) ([]record.Topic, error) {
	body := "''"
	if whole {
		body = "body_html"
	}
	rows, err := w.queryForumTopics(ctx, fmt.Sprintf(sqlText("held_topic"), body), host, ids)
	return selectRows[record.Topic](rows, err, fmt.Sprintf("read the records of %d topics of %s", len(ids), host))
}

// VisibleTopics returns the numbers of a forum's topics that it showed when they were
// written last, created since a time, except for some.
func (w *Warehouse) VisibleTopics(ctx context.Context, host string, since time.Time, except []string) ([]string, error) {
	rows, err := w.queryForumTopics(ctx, sqlText("held_topic_visible"), host, except,
		clickhouse.Named("host", host), clickhouse.Named("since", since.UnixMilli()))
	return selectRows[string](rows, err, "list the visible topics of "+host)
}

// queryForumTopics runs a query over the external table "wanted_topics".
func (w *Warehouse) queryForumTopics(
	ctx context.Context, sql, host string, ids []string, args ...any,
) (driver.Rows, error) {
	wanted, err := externalTable("wanted_topics", ids, func(id string) []any {
		return []any{host, id}
	}, textColumn("host"), textColumn("external_id"))
	return w.queryWith(ctx, wanted, err, sql, args...)
}
