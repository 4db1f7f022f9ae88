package reference

import (
	"bytes"
	_ "embed" // descriptions.json
	"encoding/json"
	"reflect"
	"strings"

	"pnyx/api"
	"pnyx/api/apierror"
	"pnyx/api/param"
	"pnyx/api/routes"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/governance/rules"
	"pnyx/reference/openapi"
)

const exampleTime = "2026-01-31T12:00:00.000Z"

// Patterns of texts. A decimal has no exponent, sign or superfluous zeros, so that equal numbers are equal texts.
const (
	patternDecimal     = `^(0|[1-9][0-9]*)(\.[0-9]*[1-9])?$`
	patternSigned      = `^(0|-?[1-9][0-9]*(\.[0-9]*[1-9])?|-?0\.[0-9]*[1-9])$`
	patternTimestamp   = `^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$`
	patternProposalKey = `^p1_[A-Za-z0-9_-]{22}$`
	patternTopicKey    = `^t1_[A-Za-z0-9_-]{22}$`
	patternMonth       = `^[0-9]{4}-(0[1-9]|1[0-2])$`
)

// descriptionsJSON describes the types and fields of answers, for callers. It is the
// only place where they are described; openapi.Descriptions is its form.
//
//go:embed descriptions.json
var descriptionsJSON []byte

// newSchemas returns the schemas of what is around data, and of errors, to which envelopeSchema adds others.
func newSchemas() *openapi.Schemas {
	schemas := &openapi.Schemas{Scalars: scalars(), Enums: enums(), Names: names(), Contents: map[string]reflect.Type{
		"Intelligence.dossier": reflect.TypeFor[*governance.Dossier](), "Intelligence.sourceRefs": reflect.TypeFor[[]governance.DossierSource](),
		"Intelligence.warnings": reflect.TypeFor[[]string](), "Dossier.actions": reflect.TypeFor[*[]governance.DossierAction](),
		"DossierArgument.items": reflect.TypeFor[*[]governance.DossierArgument](), "DossierDecision.quorumChoices": reflect.TypeFor[*[]string](),
	}}
	decode(descriptionsJSON, &schemas.Descriptions)
	schemas.Of(reflect.TypeFor[api.Meta]())
	schemas.Of(reflect.TypeFor[apierror.ErrorEnvelope]())
	schemas.Of(reflect.TypeFor[param.Problem]())
	return schemas
}

// decode reads an embedded file of this package. It panics on one that cannot be read, which every test would
// show.
func decode(text []byte, into any) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		panic(err)
	}
}

// scalars are the types that JSON shows as text of one form.
func scalars() map[reflect.Type]*openapi.Schema {
	var codes []string
	for _, info := range api.Codes(true) {
		codes = append(codes, string(info.Code))
	}
	return map[reflect.Type]*openapi.Schema{
		reflect.TypeFor[governance.Decimal]():       {Type: "string", Format: "decimal", Pattern: patternDecimal, Examples: []any{"1234.5"}},
		reflect.TypeFor[governance.SignedDecimal](): {Type: "string", Format: "decimal", Pattern: patternSigned, Examples: []any{"-1234.5"}},
		reflect.TypeFor[governance.Timestamp]():     {Type: "string", Format: "date-time", Pattern: patternTimestamp, Examples: []any{exampleTime}},
		reflect.TypeFor[governance.ProposalKey]():   {Type: "string", Pattern: patternProposalKey, Examples: []any{"p1_f_XfJz_6yGy1gCgoSU2qbg"}},
		reflect.TypeFor[governance.TopicKey]():      {Type: "string", Pattern: patternTopicKey, Examples: []any{"t1_QTih_6Tc8DCYv4aSbi5x1Q"}},
		reflect.TypeFor[apierror.Code]():            {Type: "string", Enum: codes, Examples: []any{string(apierror.CodeValidation)}},
	}
}

// enums are the text types that have no values but these.
func enums() map[reflect.Type][]string {
	var flags []governance.QualityFlag
	for _, rule := range rules.QualityFlags() {
		flags = append(flags, rule.Flag)
	}
	var warnings []governance.WarningCode
	for _, rule := range rules.WarningRules() {
		warnings = append(warnings, rule.Code)
	}
	all := map[reflect.Type][]string{}
	addEnum(all, governance.Free, governance.Standard, governance.Plus)
	addEnum(all, governance.Readinesses()...)
	addEnum(all, governance.Coverages()...)
	addEnum(all, governance.VotesReady, governance.VotesPartial, governance.VotesBackfilling, governance.VotesUnavailable)
	addEnum(all, governance.UpstreamBasis, governance.BallotsBasis)
	addEnum(all, governance.QuorumOfApproval, governance.QuorumOfRejection)
	addEnum(all, governance.Providers()...)
	addEnum(all, governance.SourceStates()...)
	addEnum(all, governance.ModeFollowed, governance.ModeImported)
	addEnum(all, governance.PowerAtStart, governance.PowerUnknown)
	addEnum(all, governance.Pending, governance.Active, governance.Closed)
	addEnum(all, governance.AllOutcomes()...)
	addEnum(all, governance.LateBallots, governance.UpstreamRecount, governance.NewRule, governance.OwnRecount)
	addEnum(all, governance.IntelligenceAvailable, governance.IntelligencePending, governance.IntelligenceUnavailable)
	addEnum(all, governance.Severities()...)
	addEnum(all, flags...)
	addEnum(all, warnings...)
	addEnum(all, governance.Confidences()...)
	addEnum(all, governance.ProposalItem, governance.TopicItem, governance.DAOItem)
	addEnum(all, governance.MatchURL, governance.MatchExternalID, governance.MatchTitle, governance.MatchTitleContains)
	addEnum(all, governance.MatchedSourceURL, governance.MatchedDiscussionURL, governance.MatchedExternalID, governance.MatchedTitle)
	for _, band := range rules.PriorityBands() {
		addEnum(all, band.Name)
	}
	for _, set := range []reflect.Type{reflect.TypeFor[governance.EventType](), reflect.TypeFor[governance.SignalType]()} {
		all[set] = query.Values(set)
	}
	return all
}

// names are the component names of types whose Go name is a word that generated code has other uses for.
func names() map[reflect.Type]string {
	return map[reflect.Type]string{
		reflect.TypeFor[apierror.Code]():    "ErrorCode",
		reflect.TypeFor[routes.Page]():      "PageInfo",
		reflect.TypeFor[governance.Event](): "GovernanceEvent",
		reflect.TypeFor[governance.Match](): "CandidateMatch",
	}
}

func addEnum[T ~string](all map[reflect.Type][]string, values ...T) {
	for _, value := range values {
		all[reflect.TypeFor[T]()] = append(all[reflect.TypeFor[T]()], string(value))
	}
}

// envelopeSchema returns the schema of a route's answer with data.
func envelopeSchema(schemas *openapi.Schemas, route routes.Route) *openapi.Schema {
	described := "Meta"
	if route.Paged() {
		described = "ListMeta"
	}
	data := schemas.Of(reflect.TypeOf(route.Returns))
	data.Description = route.Summary
	return &openapi.Schema{
		Type: "object", Description: "An answer with data.", Required: []string{"data", "meta"},
		Properties: openapi.Members[*openapi.Schema]{
			{Name: "data", Value: data},
			{Name: "meta", Value: openapi.RefTo(described)},
		},
	}
}

// metaSchemas replaces Meta by two components: ListMeta has a page, Meta has none.
func metaSchemas(components openapi.Members[*openapi.Schema]) openapi.Members[*openapi.Schema] {
	var all openapi.Members[*openapi.Schema]
	for _, component := range components {
		if component.Name != "Meta" {
			all = append(all, component)
			continue
		}
		list, single := *component.Value, *component.Value
		list.Description = "What an answer with one page of a list is."
		list.Required = append(append([]string{}, list.Required...), "page")
		list.Properties, single.Properties = nil, nil
		for _, property := range component.Value.Properties {
			if property.Name == "page" {
				page := openapi.RefTo("PageInfo")
				page.Description = property.Value.Description
				list.Properties.Add(property.Name, page)
				continue
			}
			list.Properties = append(list.Properties, property)
			single.Properties = append(single.Properties, property)
		}
		all.Add("Meta", &single)
		all.Add("ListMeta", &list)
	}
	return all
}

func describeParam(schemas *openapi.Schemas, given param.Param) *openapi.Parameter {
	described := &openapi.Parameter{
		Name: given.Name, In: "query", Required: given.Required || given.In == param.InPath,
		Description: given.Description + " Allowed: " + strings.TrimSuffix(given.Allowed(), ", joined by commas") + ".",
		Schema:      paramSchema(schemas, given), XAddition: given.Addition,
	}
	if given.In == param.InPath {
		described.In = "path"
	}
	if given.Kind == param.EnumList {
		described.Style, described.Explode = "form", new(bool)
	}
	switch {
	case given.Example == "":
	case described.Required:
		described.Example = given.JSON(given.Example)
	default:
		// Tools fill in examples of parameters, not of schemas: optional parameters stay empty.
		described.Schema.Examples = []any{given.JSON(given.Example)}
	}
	return described
}

func paramSchema(schemas *openapi.Schemas, given param.Param) *openapi.Schema {
	one, longest := 1, param.MaxTextBytes
	schema := &openapi.Schema{Type: "string"}
	switch given.Kind {
	case param.Integer:
		schema = &openapi.Schema{Type: "integer", Minimum: &given.Min, Maximum: &given.Max}
	case param.Boolean:
		schema.Type = "boolean"
	case param.Enum:
		schema = setSchema(schemas, given)
	case param.EnumList:
		return &openapi.Schema{Type: "array", Items: setSchema(schemas, given), MinItems: &one}
	case param.ProposalKey:
		schema.Pattern = patternProposalKey
	case param.TopicKey:
		schema.Pattern = patternTopicKey
	case param.Month:
		schema.Pattern = patternMonth
	case param.Instant:
		// The format date-time would exclude dates, which are allowed.
		schema.MinLength = &one
	case param.Cursor:
		longest = param.MaxCursorBytes
		schema.MinLength, schema.MaxLength = &one, &longest
	case param.Text, param.Voter:
		schema.MinLength, schema.MaxLength = &one, &longest
	}
	if given.Default != "" {
		schema.Default = given.JSON(given.Default)
	}
	return schema
}

// setSchema returns the schema of an enumeration's value: the one of answers, if they have it.
func setSchema(schemas *openapi.Schemas, given param.Param) *openapi.Schema {
	if len(schemas.Enums[given.Set]) > 0 {
		return schemas.Of(given.Set)
	}
	return &openapi.Schema{Type: "string", Enum: given.Enum}
}
