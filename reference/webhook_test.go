package reference_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pnyx/api"
	"pnyx/test/check"
	"pnyx/test/openapitest"
)

// described is a reference to a schema.
type described struct {
	Ref string `json:"$ref"`
}

func TestWebhooksDescribeTheRowsOfTheLists(t *testing.T) {
	t.Parallel()
	text := openAPI(t)
	var document struct {
		Webhooks map[string]struct {
			Post struct {
				Parameters []struct {
					Name, In string
					Required bool
				}
				RequestBody struct {
					Content map[string]struct {
						Example json.RawMessage
						Schema  struct {
							Properties struct{ Data described }
						}
					}
				}
				Responses map[string]any
			}
		}
		Paths map[string]struct {
			Get struct {
				Responses map[string]struct {
					Content map[string]struct {
						Schema struct {
							Properties struct {
								Data struct{ Items described }
							}
						}
					}
				}
			}
		}
	}
	check.MustDo(t, json.Unmarshal(text, &document))
	contract := openapitest.New(t, text)
	for name, list := range map[string]string{"event": "/v2/events", "signal": "/v2/signals", "test": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			post := document.Webhooks[name].Post
			body := post.RequestBody.Content["application/json"]
			check.WantError(t, nil, contract.CheckMessage(name, body.Example))
			row := document.Paths[list].Get.Responses["200"].Content["application/json"].Schema.Properties.Data.Items.Ref
			check.Want(t, row, body.Schema.Properties.Data.Ref, "data", "the row of the list")
			var headers []string
			for _, header := range post.Parameters {
				if header.In != "header" || !header.Required {
					t.Errorf("%s: got in %s, required %t, want a header that is always there", header.Name, header.In, header.Required)
				}
				headers = append(headers, header.Name)
			}
			check.Want(t, "webhook-id webhook-timestamp webhook-signature", strings.Join(headers, " "), "headers")
			if post.Responses["2XX"] == nil || post.Responses["410"] == nil {
				t.Errorf("got responses %v, want 2XX and 410", post.Responses)
			}
		})
	}
}

func TestReadersAreToldOfWebhooks(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		api.PathDocs: `<code>webhook-signature</code>`, api.PathLLMs: "webhooks in the OpenAPI document",
	} {
		check.WantPart(t, want, string(document(t, path)), path)
	}
}
