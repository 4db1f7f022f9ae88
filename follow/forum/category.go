package forum

import (
	"context"
	"encoding/json"
	"fmt"

	"pnyx/warehouse/record"
	"pnyx/warehouse/source"
)

// readCategories writes the names of all categories.
func (l *lanes) readCategories(ctx context.Context) (bool, error) {
	const path = "/categories.json?include_subcategories=true"
	var said struct {
		List *struct {
			Categories []json.RawMessage
		} `json:"category_list"`
	}
	if _, err := l.get(ctx, path, &said); err != nil {
		return false, err
	}
	if said.List == nil {
		return false, fmt.Errorf("answer of %s to %s %w", l.Name, path, errNoForum)
	}
	var records []record.Record
	for left := said.List.Categories; len(left) > 0; left = left[1:] {
		var item struct {
			ID    json.Number
			Below []json.RawMessage `json:"subcategory_list"`
		}
		if err := json.Unmarshal(left[0], &item); err == nil {
			left = append(left, item.Below...)
		}
		var err error
		if records, err = l.read(ctx, source.DiscourseCategory, "category "+item.ID.String(), left[0], records); err != nil {
			return false, err
		}
	}
	cursor := l.cursor(laneCategories, new(struct{}))
	return false, l.move(ctx, records, cursor, struct{}{})
}
