package reference

import (
	"reflect"

	"github.com/gofiber/fiber/v2"

	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/reference/openapi"
)

// webhook is one kind of message that receivers get.
type webhook struct {
	// Name is what documents call the webhook, and Title what people do.
	Name, Title string
	Summary     string
	// Types are the types of its messages, of which Example is one.
	Types   []string
	Example string
	// Row is a value of the type that data has; nil for a test.
	Row any
}

func webhooks() []webhook {
	return []webhook{
		{
			"event", "An event", "Sent when an event first appears: `data` is its row of `/v2/events`, byte for byte, and `timestamp` its time.",
			prefixed("event.", rules.EventTypeNames()), "event.proposal_created",
			governance.Event{},
		},
		{
			"signal", "A signal", "Sent when a signal first appears: `data` is its row of `/v2/signals`, byte for byte, and `timestamp` its detection.",
			prefixed("signal.", rules.SignalTypeNames()), "signal.proposal_deadline_reminder",
			governance.Signal{},
		},
		{
			"test", "A test", "Sent when the operator tries an endpoint: to be answered as any other. `data` names the endpoint.",
			[]string{"pnyx.test"},
			"pnyx.test", nil,
		},
	}
}

func prefixed(prefix string, names []string) []string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = prefix + name
	}
	return all
}

func webhookHeaders() []*openapi.Parameter {
	text := &openapi.Schema{Type: "string"}
	return []*openapi.Parameter{
		{
			Name: "webhook-id", Schema: text, Example: "e1_1",
			Description: "The `eventId` or `signalId`, the same in every attempt: drop one that you know.",
		},
		{
			Name: "webhook-timestamp", Schema: text, Example: "1769860800",
			Description: "When this attempt was made, in seconds since 1970: refuse what is minutes old.",
		},
		{
			Name: "webhook-signature", Schema: text, Example: "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
			Description: "`v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64, by the endpoint's secret; two with a space " +
				"between while the secret is rotated. Libraries of Standard Webhooks verify it.",
		},
	}
}

func webhookTag() openapi.Tag {
	return openapi.Tag{Name: "Webhooks", Description: "Events and signals, sent to a partner's server as they appear: at least once, signed as in " +
		"Standard Webhooks, in order for each proposal, and again for five days while the receiver fails. The operator adds the endpoint."}
}

func describeWebhooks(schemas *openapi.Schemas) (items openapi.Members[*openapi.PathItem]) {
	for _, hook := range webhooks() {
		operation := &openapi.Operation{
			OperationID: "webhooks." + hook.Name, Tags: []string{webhookTag().Name}, Summary: hook.Title, Description: hook.Summary,
			RequestBody: openapi.Object("required", true, "content", openapi.Object(
				fiber.MIMEApplicationJSON, &openapi.MediaType{Schema: messageSchema(schemas, hook), Example: exampleMessage(schemas, hook)},
			)),
			Responses: openapi.Members[*openapi.Response]{
				{Name: "2XX", Value: &openapi.Response{Description: "The message is taken, within 15 seconds. What the answer says is ignored."}},
				{Name: "410", Value: &openapi.Response{Description: "The receiver is gone: its endpoint is turned off."}},
				{Name: "default", Value: &openapi.Response{Description: "The message is sent again, with growing pauses, for five days. Redirects are not followed."}},
			},
			Security: []map[string][]string{}, XAddition: true,
		}
		for _, header := range webhookHeaders() {
			header.In, header.Required = "header", true
			operation.Parameters = append(operation.Parameters, header)
		}
		items.Add(hook.Name, &openapi.PathItem{Post: operation})
	}
	return items
}

// messageSchema describes a message in place: generators leave out components that no path refers to.
func messageSchema(schemas *openapi.Schemas, hook webhook) *openapi.Schema {
	timestamp := schemas.Of(reflect.TypeFor[governance.Timestamp]())
	data := &openapi.Schema{Type: "object", Description: "The endpoint.", Required: []string{"endpointId"}}
	data.Properties.Add("endpointId", &openapi.Schema{Type: "string", Description: "Its id."})
	timestamp.Description = "The time of the event, the detection of the signal, or the time of the test."
	if hook.Row != nil {
		data = schemas.Of(reflect.TypeOf(hook.Row))
		data.Description = "The row of the list, as it is when the message is sent."
	}
	return &openapi.Schema{
		Type: "object", Description: hook.Summary, Required: []string{"type", "timestamp", "data"},
		Properties: openapi.Members[*openapi.Schema]{
			{Name: "type", Value: &openapi.Schema{Type: "string", Description: "What the message is about.", Enum: hook.Types}},
			{Name: "timestamp", Value: timestamp},
			{Name: "data", Value: data},
		},
	}
}

func exampleMessage(schemas *openapi.Schemas, hook webhook) any {
	var data any = openapi.Object("endpointId", "wh_4f2c81d09ab3e675")
	if hook.Row != nil {
		data = schemas.Example(reflect.TypeOf(hook.Row))
	}
	return openapi.Object("type", hook.Example, "timestamp", exampleTime, "data", data)
}
