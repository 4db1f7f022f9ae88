package hub

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"pnyx/governance/abi"
)

// row is an item as the hub states it: strings, numbers, lists and nested rows.
type row map[string]any

// schema names the fields of each type; those with a type of their own have its name.
func schema() map[string]map[string]string {
	plain := func(names string) map[string]string {
		fields := map[string]string{}
		for name := range strings.FieldsSeq(names) {
			if name, kind, nested := strings.Cut(name, ":"); nested {
				fields[name] = kind
			} else {
				fields[name] = ""
			}
		}
		return fields
	}
	return map[string]map[string]string{
		"spaces": plain("id name network symbol flagged proposalsCount votesCount"),
		"proposals": plain("id space:spaces author created updated start end type title body discussion choices quorum quorumType state link scores " +
			"scores_total scores_state scores_updated votes flagged privacy plugins"),
		"votes":    plain("id voter created choice vp vp_state reason proposal:proposals space:spaces"),
		"users":    plain("id name"),
		"messages": plain("mci id type space address timestamp"),
	}
}

// filters has the conditions of each list, without those that nothing asks for.
func filters(list string) *regexp.Regexp {
	const compared = `(_in|_gte?|_lte?)?`
	return regexp.MustCompile("^(" + map[string]string{
		"spaces":    `id(_in)?|created` + compared,
		"proposals": `(id|space|author|type|scores_state)(_in)?|(created|updated|start|end)` + compared + `|state|flagged`,
		"votes":     `(id|space|voter|proposal|vp_state)(_in)?|(created|vp)` + compared,
		"users":     `(id|ipfs)(_in)?|created` + compared,
		"messages":  `(id|type|space|address)(_in)?|(mci|timestamp)` + compared,
	}[list] + ")$")
}

// addressText is an address of an EVM chain, or of Starknet, or empty.
var addressText = regexp.MustCompile(`^0x([0-9a-fA-F]{40}|0[0-7][0-9a-fA-F]{62})$|^$`)

func isNoAddress(value any) bool {
	text, _ := value.(string) // another value is no condition
	return !addressText.MatchString(text)
}

// addressLength is the length of an address. No id has it.
const addressLength = 42

// resolve answers one root field.
func (h *Hub) resolve(root selection) (any, error) {
	list, one := root.name, false
	if _, known := schema()[list]; !known {
		list, one = list+"s", true
	}
	if err := validate(root, list); err != nil {
		return nil, err
	}
	if one {
		id, _ := root.args["id"].(string)
		for _, r := range h.rows(list, map[string]any{"id": id}) {
			if r["id"] == id {
				return project(r, root.fields, list, 0)
			}
		}
		return nil, nil //nolint:nilnil // GraphQL's null
	}
	found, err := h.list(root, list)
	if err != nil {
		return nil, err
	}
	answer := make([]any, len(found))
	for i, r := range found {
		if answer[i], err = project(r, root.fields, list, i); err != nil {
			return nil, err
		}
	}
	return answer, nil
}

// validate refuses fields and filters that the schema lacks.
func validate(field selection, list string) error {
	types := schema()
	fields, known := types[list]
	if !known {
		return invalid("Cannot query field %q on type \"Query\".", field.name)
	}
	where, _ := field.args["where"].(map[string]any)
	for name := range where {
		if !filters(list).MatchString(name) {
			return invalid("Field %q is not defined by type \"Where\".", name)
		}
	}
	if direction, stated := field.args["orderDirection"]; stated && direction != enum("asc") && direction != enum("desc") {
		return invalid("Value %q does not exist in \"OrderDirection\" enum.", direction)
	}
	for _, inner := range field.fields {
		kind, known := fields[inner.name]
		switch {
		case !known:
			return invalid("Cannot query field %q on type %q.", inner.name, list)
		case (kind == "") != (inner.fields == nil):
			return invalid("Field %q has the wrong selection of subfields.", inner.name)
		case kind != "":
			if err := validate(inner, kind); err != nil {
				return err
			}
		}
	}
	return nil
}

// list returns the rows of a list: filtered, ordered, one page.
func (h *Hub) list(root selection, list string) ([]row, error) {
	first, skip := number(root.args["first"], 20), number(root.args["skip"], 0)
	where, _ := root.args["where"].(map[string]any)
	refusal := func(format string, args ...any) error {
		return &gqlError{status: http.StatusInternalServerError, Path: []any{root.name}, Message: fmt.Sprintf(format, args...)}
	}
	const tooMany = "The `%s` argument must not be greater than %d"
	switch {
	case first > maxFirst:
		return nil, refusal(tooMany, "first", maxFirst)
	case skip > maxSkip:
		return nil, refusal(tooMany, "skip", maxSkip)
	case first < 0 || skip < 0:
		return nil, refusal("The `first` argument must be positive")
	}
	for name, bound := range where {
		limit := maxIn
		if list == "proposals" && name == "space_in" {
			limit = maxSpaces
		}
		values, is := bound.([]any)
		if !is {
			values = []any{bound}
		}
		field := strings.TrimSuffix(name, "_in")
		switch {
		case len(values) > limit:
			return nil, refusal(tooMany, name, limit)
		case (field == "voter" || list == "users" && field == "id") && slices.ContainsFunc(values, isNoAddress):
			return nil, refusal("Invalid addresses in %s", field)
		}
	}
	if list == "votes" && where["space_in"] != nil && h.switches.NoSpaceVotes {
		return nil, invalid("Field \"space_in\" is not defined by type \"VoteWhere\".")
	}
	if h.switches.Empty {
		return nil, nil
	}
	found := slices.DeleteFunc(h.rows(list, where), func(r row) bool { return !matches(r, where) })
	sortRows(found, list, root.args)
	found = found[min(int(skip), len(found)):]
	found = found[:min(int(first), len(found))]
	if list == "users" && len(where) == 1 { // whoever is asked for by id alone is answered, beyond any page
		for id := range idsOf(where) {
			if id = spelled(id); !slices.ContainsFunc(found, func(r row) bool { return r["id"] == id }) {
				found = append(found, row{"id": id})
			}
		}
	}
	return found, nil
}

// spelled returns an address as the hub does: with a checksum where it is of an EVM chain.
func spelled(address string) string {
	if len(address) == addressLength {
		return abi.Checksummed(address)
	}
	return strings.ToLower(address)
}

// matches reports whether a row satisfies each condition. Falsy bounds are left out.
func matches(r row, where map[string]any) bool {
	for name, bound := range where {
		if bound == nil || bound == 0.0 || bound == "" || bound == false {
			continue
		}
		base, operator := name, ""
		for _, suffix := range []string{"_in", "_gte", "_lte", "_gt", "_lt"} {
			if found, has := strings.CutSuffix(name, suffix); has {
				base, operator = found, suffix
				break
			}
		}
		if !holds(r[base], operator, bound) {
			return false
		}
	}
	return true
}

func holds(value any, operator string, bound any) bool {
	if nested, is := value.(row); is {
		value = nested["id"]
	}
	if operator == "_in" {
		values, _ := bound.([]any)
		return slices.ContainsFunc(values, func(b any) bool { return compareValues(value, b) == 0 })
	}
	order := compareValues(value, bound)
	switch operator {
	case "_gt":
		return order > 0
	case "_gte":
		return order >= 0
	case "_lt":
		return order < 0
	case "_lte":
		return order <= 0
	}
	return order == 0
}

// compareValues compares numbers as such, and addresses in any letter case.
func compareValues(a, b any) int {
	left, leftText := a.(string)
	right, rightText := b.(string)
	if leftText && rightText {
		if len(left) == addressLength && len(right) == addressLength {
			return cmp.Compare(strings.ToLower(left), strings.ToLower(right))
		}
		return cmp.Compare(left, right)
	}
	if a, is := a.(bool); is && a == b {
		return 0
	}
	return cmp.Compare(number(a, 0), number(b, 0))
}

func number(value any, missing float64) float64 {
	switch value := value.(type) {
	case float64:
		return value
	case int64:
		return float64(value)
	case int:
		return float64(value)
	}
	return missing
}

// sortRows orders rows. Equal votes tie by id in the direction of the sort, proposals by id upwards.
func sortRows(rows []row, list string, args map[string]any) {
	by, _ := args["orderBy"].(string)
	if _, known := schema()[list][by]; !known {
		by = "created"
		if list == "messages" {
			by = "timestamp"
		}
	}
	direction := -1
	if args["orderDirection"] == enum("asc") {
		direction = 1
	}
	slices.SortFunc(rows, func(a, b row) int {
		tie := compareValues(a["id"], b["id"])
		if list != "proposals" {
			tie *= direction
		}
		return cmp.Or(direction*compareValues(a[by], b[by]), tie)
	})
}

// project selects the asked fields of a row. A broken row takes its whole page along.
func project(r row, fields []selection, list string, index int) (any, error) {
	if r["broken"] == true {
		return nil, &gqlError{
			status: http.StatusOK, Path: []any{list, index, "voter"},
			Message: "Cannot return null for non-nullable field Vote.voter.",
		}
	}
	answer := map[string]any{}
	for _, field := range fields {
		value := r[field.name]
		if nested, is := value.(row); is {
			inner, err := project(nested, field.fields, list, index)
			if err != nil {
				return nil, err
			}
			value = inner
		}
		answer[cmp.Or(field.alias, field.name)] = value
	}
	return answer, nil
}
