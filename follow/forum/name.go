package forum

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"pnyx/fetch"
	"pnyx/follow"
	"pnyx/governance"
	"pnyx/governance/abi"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// directoryPages bounds the pages of Discourse's directory in one order, directoryUsers the users of a page.
const directoryPages, directoryUsers = 11, 50

// namesPosition has the field that was read last; empty for none.
type namesPosition struct {
	Field string `json:"field"`
}

// readNames names voters after the users who state their addresses, and takes back what is no longer stated.
func (l *pollers) readNames(ctx context.Context) (bool, error) {
	var at namesPosition
	cursor := l.cursor(follow.PollerNames, &at)
	if l.AddressField == "" && at.Field == "" {
		return false, nil
	}
	users, err := l.usersByAddress(ctx)
	if err != nil {
		return false, err
	}
	held, err := records.HeldNames(ctx, l.journal.Warehouse, governance.NameOfForum, l.Name)
	if err != nil {
		return false, err
	}
	var names []record.Record
	for voter, user := range users {
		if user != "" {
			names = append(names, &record.Name{Voter: voter, Source: governance.NameOfForum, Origin: l.Name, Name: user})
		}
	}
	for i := range held {
		if users[held[i].Voter] == "" {
			held[i].Withdrawn = true
			names = append(names, &held[i])
		}
	}
	return false, l.move(ctx, names, cursor, namesPosition{l.AddressField})
}

// usersByAddress returns the names of users by the address that their field states. An address that several users
// state is nobody's: anybody may write it. The directory is read from both ends, twice what it shows.
func (l *pollers) usersByAddress(ctx context.Context) (map[string]string, error) {
	users, seen := map[string]string{}, map[string]bool{}
	if l.AddressField == "" {
		return users, nil
	}
	field, err := l.addressField(ctx)
	if err != nil {
		return nil, err
	}
	for page := range 2 * directoryPages {
		path := fmt.Sprintf("/directory_items.json?period=all&order=%s&user_field_ids=%s&page=%d",
			url.QueryEscape(l.AddressField), field, page%directoryPages)
		if page >= directoryPages {
			path += "&asc=true"
		}
		entries, err := l.directory(ctx, path)
		if err == nil && page == 0 && len(entries) == 0 {
			err = fmt.Errorf("%s lists none of its users", l.Name) // which says nothing about what is held
		}
		if err != nil {
			return nil, err
		}
		fresh := 0
		for _, e := range entries {
			texts := fieldTexts(e.Fields[field])
			if len(texts) == 0 || seen[e.Name] {
				continue
			}
			fresh, seen[e.Name] = fresh+1, true
			if address := strings.TrimSpace(texts[0]); len(texts) == 1 && abi.IsValidAddress(address) {
				voter, name := governance.VoterIdentity(address), e.Name
				if _, again := users[voter]; again {
					name = ""
				}
				users[voter] = name
			}
		}
		if len(entries) < directoryUsers || fresh == 0 {
			break
		}
	}
	return users, nil
}

// addressField returns the id of the field, which everybody must see.
func (f *Forum) addressField(ctx context.Context) (string, error) {
	var site struct {
		Fields []struct {
			ID      fetch.Count `json:"id"`
			Name    string      `json:"name"`
			Profile bool        `json:"show_on_profile"`
			Card    bool        `json:"show_on_user_card"`
		} `json:"user_fields"`
	}
	if _, err := f.get(ctx, "/site.json", &site); err != nil {
		return "", err
	}
	for _, field := range site.Fields {
		if field.Name == f.AddressField && (field.Profile || field.Card) {
			return text(field.ID), nil
		}
	}
	return "", fmt.Errorf("%s shows everybody no user field %q", f.Name, f.AddressField)
}

type directoryEntry struct {
	Name   string                     `json:"username"`
	Fields map[string]json.RawMessage `json:"user_fields"`
}

// directory asks for a page of users. It sends no key: to the key's user, Discourse shows that user besides.
func (f *Forum) directory(ctx context.Context, path string) ([]directoryEntry, error) {
	public := *f
	public.Key = ""
	type item struct {
		User directoryEntry `json:"user"`
	}
	var said struct {
		Items []item    `json:"directory_items"`
		Meta  *struct{} `json:"meta"`
	}
	answer, err := public.get(ctx, path, &said)
	switch {
	case err != nil:
		return nil, err
	case said.Meta == nil, len(said.Items) > directoryUsers:
		return nil, fmt.Errorf("answer of %s to %s (HTTP %d) is no page of its users", f.Name, path, answer.Status)
	}
	return warehouse.Values(said.Items, func(i item) directoryEntry { return i.User }), nil
}

// fieldTexts returns the texts of a field that are not empty: new versions state a list, old ones one text.
func fieldTexts(stated json.RawMessage) []string {
	var listed struct {
		Value []string `json:"value"`
	}
	if len(stated) == 0 {
		return nil
	}
	if fetch.Decode(stated, &listed) != nil {
		var one string
		_ = fetch.Decode(stated, &one) // another value is no text
		listed.Value = []string{one}
	}
	return slices.DeleteFunc(listed.Value, func(value string) bool { return value == "" })
}
