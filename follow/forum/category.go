package forum

import (
	"context"
	"encoding/json"
	"fmt"

	"pnyx/fetch"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
	"pnyx/warehouse/source"
)

// maxCategoryLevels bounds how deep categories are nested, which Discourse does three levels deep at most;
// maxCategories bounds their number.
const maxCategoryLevels, maxCategories = 8, 10_000

func (l *pollers) readCategories(ctx context.Context) (bool, error) {
	all, err := l.categories(ctx)
	if err != nil {
		return false, err
	}
	if err := l.move(ctx, all, l.cursor(pollerCategories, new(struct{})), struct{}{}); err != nil {
		return false, err
	}
	restricted, err := records.RestrictedCategories(ctx, l.journal.Warehouse, l.Name)
	if err == nil {
		l.restricted.Store(new(restricted[l.Name]))
	}
	return false, err
}

// restrictedCategories returns the categories that not everybody may read. The first time it reads all, so that no
// topic of one is read before. Without a key the forum shows none.
func (l *pollers) restrictedCategories(ctx context.Context) (map[string]bool, error) {
	if l.Key == "" {
		return nil, nil //nolint:nilnil // none
	}
	if l.restricted.Load() == nil {
		if _, err := l.readCategories(ctx); err != nil {
			return nil, err
		}
	}
	return *l.restricted.Load(), nil
}

func (l *pollers) categories(ctx context.Context) ([]record.Record, error) {
	const path = "/categories.json?include_subcategories=true"
	var said struct {
		List *struct {
			Categories []json.RawMessage `json:"categories"`
		} `json:"category_list"`
	}
	if _, err := l.get(ctx, path, &said); err != nil {
		return nil, err
	}
	if said.List == nil || said.List.Categories == nil {
		return nil, fmt.Errorf("answer of %s to %s %w", l.Name, path, errNoForum)
	}
	return l.takeCategories(said.List.Categories)
}

// takeCategories reads categories and those below them, each level again with all that it contains.
func (l *pollers) takeCategories(level []json.RawMessage) (records []record.Record, err error) {
	for depth := 0; len(level) > 0; depth++ {
		if depth == maxCategoryLevels {
			return nil, fmt.Errorf("categories of %s are nested more than %d deep", l.Name, maxCategoryLevels)
		}
		var below []json.RawMessage
		for _, raw := range level {
			var item struct {
				ID    fetch.Count       `json:"id"`
				Below []json.RawMessage `json:"subcategory_list"`
			}
			if err := fetch.Decode(raw, &item); err == nil {
				below = append(below, item.Below...)
			}
			records = l.read(source.DiscourseCategory, "category "+text(item.ID), raw, records)
		}
		if level = below; len(records)+len(level) > maxCategories {
			return nil, fmt.Errorf("%s has more than %d categories", l.Name, maxCategories)
		}
	}
	return records, nil
}
