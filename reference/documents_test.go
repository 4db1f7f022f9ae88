package reference_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pnyx/api"
	"pnyx/api/apierror"
	"pnyx/api/routes"
	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/mcp"
	"pnyx/ratelimit"
	"pnyx/reference"
	"pnyx/reference/client"
	"pnyx/reference/openapi"
	"pnyx/test/check"
	"pnyx/test/openapitest"
)

// defaultPrices are the prices of the default settings, which the published document has.
func defaultPrices() routes.Prices {
	prices := routes.Prices{Token: "USDC", Network: "eip155:8453", Paid: map[string]governance.Decimal{}}
	for _, route := range routes.All() {
		switch route.Tier {
		case governance.Standard:
			prices.Paid[route.ID] = "0.001"
		case governance.Plus:
			prices.Paid[route.ID] = "0.005"
		case governance.Free:
		}
	}
	return prices
}

// openAPI returns the OpenAPI document.
func openAPI(t *testing.T) []byte {
	t.Helper()
	return check.Must(reference.OpenAPI(reference.Node{Prices: defaultPrices()}))(t)
}

// renderDocument renders a document without examples of a node.
func renderDocument(d api.Document) ([]byte, error) {
	if d.RenderExamples != nil {
		return d.RenderExamples(api.Examples{})
	}
	return d.Render()
}

// document returns what a node with default settings serves at a path.
func document(t *testing.T, path string) []byte {
	t.Helper()
	documents := reference.Documents(reference.Node{Prices: defaultPrices(), PublicURL: "https://api.example.org/"})
	i := slices.IndexFunc(documents, func(d api.Document) bool { return d.Path == path })
	if i < 0 {
		t.Fatalf("got no document at %s, want one", path)
	}
	return check.Must(renderDocument(documents[i]))(t)
}

// A page of a route is for a language model that reads it alone.
func TestEachRouteHasAShortPage(t *testing.T) {
	t.Parallel()
	const most = 2560 // 800 tokens of 3.2 bytes
	for _, route := range routes.All() {
		t.Run(route.ID, func(t *testing.T) {
			t.Parallel()
			page := string(document(t, "/docs/"+route.ID+".md"))
			if len(page) > most {
				t.Errorf("got a page of %d bytes, want at most %d: shorten what its parameters say", len(page), most)
			}
			if len(route.Title) > 40 || !strings.HasPrefix(page, "# "+route.Title+"\n") {
				t.Errorf("got %.60q, want a title of at most 40 characters", page)
			}
			if part := route.Media != nil; part != (strings.Contains(page, "/<part>'") || strings.Contains(page, "/<revision>/1'")) {
				t.Errorf("got %s, want the request of a part as the manifest names it", page)
			}
			for _, param := range route.Params {
				check.WantPart(t, "| `"+param.Name+"`", page, "parameters")
			}
		})
	}
}

func TestDocumentIsTheSameAtBothAddressesAndHasNoWhiteSpace(t *testing.T) {
	t.Parallel()
	text := document(t, api.PathOpenAPI)
	if !bytes.Equal(text, document(t, api.PathOpenAPIAlias)) {
		t.Error("got another document at the alias, want the same")
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil || compact.Len() != len(text) {
		t.Errorf("got %d bytes, %v, want the %d without white space", len(text), err, compact.Len())
	}
	check.WantPart(t, `"servers":[{"url":"https://api.example.org"`, string(text), "server")
}

// What generated clients stumbled over stays mended.
func TestDocumentSuitsGeneratedClients(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{false, true} {
		prices := defaultPrices()
		prices.PayPerRequest = on
		text := check.Must(reference.OpenAPI(reference.Node{Prices: prices}))(t)
		var document struct {
			Paths map[string]struct {
				Get struct {
					OperationID string
					Summary     string
					Security    []map[string][]string
					Payment     *struct {
						Protocols []string
						Price     string
					} `json:"x-payment-info"`
					Tier      string `json:"x-tier"`
					Responses map[string]struct {
						Headers map[string]any
						Links   map[string]struct {
							OperationID string
							Parameters  map[string]string
						}
					}
				}
			}
			Components struct {
				Schemas         map[string]json.RawMessage
				SecuritySchemes map[string]any
			}
		}
		check.MustDo(t, json.Unmarshal(text, &document))
		check.Want(t, 1, len(document.Components.SecuritySchemes), "security schemes", "the token alone: a payment is no key")
		for _, name := range []string{"ErrorCode", "GovernanceEvent", "CandidateMatch", "PageInfo", "EventType", "SignalType", "PriorityBand", "MatchType"} {
			if document.Components.Schemas[name] == nil {
				t.Errorf("got no schema %s, want one", name)
			}
		}
		for _, text := range []string{`"additionalProperties"`, "joined by commas"} {
			if strings.Contains(string(openAPI(t)), text) {
				t.Errorf("got %s in the document, want none", text)
			}
		}
		for path, item := range document.Paths {
			get, paid := item.Get, item.Get.Tier != string(governance.Free)
			if (get.Payment != nil) != (paid && on) || get.Payment != nil && get.Payment.Price != "0.001" && get.Payment.Price != "0.005" {
				t.Errorf("%s, payments %t: got %+v, want what a payment costs where it is taken", path, on, get.Payment)
			}
			if want := map[bool]int{false: 1, true: 2}[on]; paid && len(get.Security) != want {
				t.Errorf("%s, payments %t: got security %v, want %d alternatives", path, on, get.Security, want)
			}
			if len(get.Responses["200"].Headers) > 6 {
				t.Errorf("%s: got %d headers, want those that a client reads", path, len(get.Responses["200"].Headers))
			}
			for name, link := range get.Responses["200"].Links {
				if name == "next" && (link.OperationID != get.OperationID || link.Parameters["cursor"] != "$response.body#/meta/page/nextCursor") {
					t.Errorf("%s: got %+v, want the next page", path, link)
				}
			}
		}
		if links := document.Paths["/v2/proposals/{proposalKey}"].Get.Responses["200"].Links; links["votes"].OperationID != "proposals.votes" ||
			links["evidence"].Parameters["proposalKey"] != "$request.path.proposalKey" {
			t.Errorf("links of a proposal: got %+v, want its ballots and evidence", links)
		}
	}
}

func TestPublishedDocumentsAreUpToDate(t *testing.T) {
	t.Parallel()
	for file, render := range map[string]func() ([]byte, error){
		"agent-v2.json":  func() ([]byte, error) { return reference.OpenAPI(reference.Node{Prices: defaultPrices()}) },
		"../server.json": func() ([]byte, error) { return reference.RegistryEntry(reference.Node{}) },
		"rules.md":       func() ([]byte, error) { return rules.Rulebook(), nil },

		"../clients/pnyx.ts": func() ([]byte, error) {
			return reference.Client(reference.Node{Prices: defaultPrices()}, client.TypeScript)
		},
		"../clients/pnyx.py": func() ([]byte, error) {
			return reference.Client(reference.Node{Prices: defaultPrices()}, client.Python)
		},
		"../clients/pnyx.go": func() ([]byte, error) { return reference.Client(reference.Node{Prices: defaultPrices()}, client.Go) },
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			check.WantSame(t, "run make docs", string(check.Must(os.ReadFile(filepath.Join("../docs", file)))(t)), string(check.Must(render())(t)))
		})
	}
}

func TestDocumentsSayWhetherPaymentPerRequestIsOn(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{false, true} {
		prices := defaultPrices()
		prices.PayPerRequest = on
		for _, document := range reference.Documents(reference.Node{Prices: prices}) {
			if document.Path != api.PathLLMs && document.Path != api.PathOpenAPI {
				continue
			}
			text := check.Must(renderDocument(document))(t)
			if off := strings.Contains(string(text), "off on this node"); off == on {
				t.Errorf("%s, with payments %t: says that they are off: %t", document.Path, on, off)
			}
			offered := strings.Contains(string(text), "[plus, 0.005 USDC]") || strings.Contains(string(text), "or 0.005 USDC a request")
			check.Want(t, on, offered, document.Path, "with payments", "a route is offered for USDC")
		}
	}
}

func TestHandwrittenDocumentsHaveThePresentTables(t *testing.T) {
	t.Parallel()
	for file, render := range map[string]func() ([]byte, error){"production.md": reference.CachingTable, "partners.md": reference.PlanTable} {
		text := check.Must(os.ReadFile(filepath.Join("../docs", file)))(t)
		table := check.Must(render())(t)
		check.WantPart(t, string(table), string(text), "docs/", file)
	}
}

func TestModelsAreToldWhoWroteTheTexts(t *testing.T) {
	t.Parallel()
	check.WantPart(t, mcp.OfStrangers, string(document(t, api.PathLLMs)), "llms.txt")
}

func TestDocumentsListThePlans(t *testing.T) {
	t.Parallel()
	llms := document(t, api.PathLLMs)
	for _, plan := range ratelimit.DescribePlans() {
		if plan.Name == string(ratelimit.PayPerRequest) {
			if strings.Contains(string(llms)+string(openAPI(t)), plan.Name) {
				t.Errorf("a node without payments lists %s", plan.Name)
			}
			continue
		}
		row := "| `" + plan.Name + "` | " + plan.Month + " | " + plan.Standard + " | " + plan.Detail + " |"
		check.WantPart(t, row, string(openAPI(t)), "the OpenAPI document")
		if line := "- " + plan.Name + ": "; !strings.Contains(string(llms), line) || !strings.Contains(string(llms), plan.Standard) {
			t.Errorf("llms.txt lacks %s", line)
		}
	}
}

func TestChangedSurfaceNeedsAnotherVersion(t *testing.T) {
	t.Parallel()
	before := openAPI(t)
	for _, test := range []struct {
		name, old, with string
		refused         bool
	}{
		{"nothing", "", "", false},
		{"the bound of a parameter", `"maximum": 100`, `"maximum": 99`, true},
		{"the name of a parameter", `"name": "hasVoteData"`, `"name": "hasVotes"`, true},
		{"a field", `"uniqueVoters"`, `"voters"`, true},
		{"a field named summary", `"summary": {`, `"abstract": {`, true},
		{"an enumeration", `"executed"`, `"enacted"`, true},
		{"a path", `"/v2/daos"`, `"/v2/organizations"`, true},
		{"a description", "exact to the last digit", "exact", false},
		{"a price", `"amount": "0.005"`, `"amount": "0.006"`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			after := string(before)
			if test.old != "" {
				after = strings.ReplaceAll(after, test.old, test.with)
			}
			check.Want(t, test.refused, errors.Is(reference.CheckVersion(before, []byte(after)), reference.ErrSameVersion), "refused")
			raised := strings.Replace(after, `"version": "`, `"version": "9`, 1)
			if err := reference.CheckVersion(before, []byte(raised)); err != nil {
				t.Errorf("under another version: got %v, want no error", err)
			}
		})
	}
}

func TestDocumentDescribesPublicRoutesOnly(t *testing.T) {
	t.Parallel()
	text := openAPI(t)
	var document struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
			Tier        string `json:"x-tier"`
			Bucket      string `json:"x-bucket"`
			Security    []map[string][]string
			Parameters  []struct{ Name, In string }
		}
	}
	check.MustDo(t, json.Unmarshal(text, &document))
	for _, internal := range []string{"internal-token", "/metrics", "/healthz", "/readyz", "clickhouse", "redis", "v1:"} {
		if strings.Contains(strings.ToLower(string(text)), internal) {
			t.Errorf("the document contains %q", internal)
		}
	}
	check.Want(t, len(routes.All()), len(document.Paths), "paths")
	for _, route := range routes.All() {
		t.Run(route.ID, func(t *testing.T) {
			t.Parallel()
			operation := document.Paths[openapi.PathTemplate(route.Path)]["get"]
			if operation.OperationID != route.ID || operation.Tier != string(route.Tier) || operation.Bucket != string(route.Bucket()) {
				t.Errorf("got %+v, want the id, tier and bucket of the route", operation)
			}
			check.Want(t, len(route.Params), len(operation.Parameters), "parameters")
			check.Want(t, route.Paid() || route.TokenOnly, len(operation.Security) > 0, "security")
		})
	}
}

// contractFields are the fields of the contract's resources by component.
var contractFields = map[string]string{
	"Meta": "requestId generatedAt dataAsOf readiness", "ListMeta": "requestId generatedAt dataAsOf readiness page",
	"Pricing": "token network routes", "RoutePrice": "routeId method path tier paid price",
	"DataStatus":  "scope daoId latestSuccessfulSync coverageStatus voteCoverageStatus",
	"DAOListItem": "daoId name hasVoteData hasForumData coverageStatus voteCoverageStatus proposalCounts latestActivity",
	"DAODetail":   "daoId name coverageStatus voteCoverageStatus proposalCounts outcomes participation sourceTypes",
	"Timeline":    "daoId metric buckets", "ProposalListItem": "proposalKey identity title sourceUrl lifecycleStatus outcome endAt coverageStatus",
	"ProposalCandidate": "proposalKey identity title match",
	"ProposalDetail": "proposalKey identity title bodyText proposerId sourceUrl discussionUrl lifecycleStatus outcome choices quorumRaw startAt " +
		"endAt related",
	"VoteSummary": "proposal totals quorum choices coverageStatus", "Quorum": "raw progress reached",
	"Ballot":   "voteId voterIdentity voterAddress choiceKey choice votingPower votedAt transactionHash",
	"Evidence": "proposal provenance intelligence qualityFlags warnings", "Provenance": "field source provider observedAt",
	"ForumTopic":      "topicKey identity title summary url author category tags relevanceScore replies posts likes views createdAt updatedAt",
	"GovernanceEvent": "eventId eventType eventTimeMs eventTimeConfidence daoId daoName itemType proposalKey title url importanceScore",
	"Signal":          "signalId signalType priority actionability daoId title summary sourceUrl deadlineAtMs severity proposalKey evidence",
	"DAOVoter":        "rank voterIdentity voterAddress totalVotingPower voteCount proposalCount",
	"VoterProfile":    "voterIdentity voterAddress daoCount voteCount proposalCount totalVotingPower daos",
	"VoterVote":       "proposal choiceKey votingPower votedAt transactionHash",
}

func TestAdditionsToTheContractAreMarked(t *testing.T) {
	t.Parallel()
	type field struct {
		Addition bool `json:"x-addition"`
	}
	var document struct {
		Paths map[string]struct {
			Get struct {
				Parameters []struct {
					Name     string
					Addition bool `json:"x-addition"`
				}
			}
		}
		Components struct {
			Schemas map[string]struct{ Properties map[string]field }
		}
	}
	check.MustDo(t, json.Unmarshal(openAPI(t), &document))
	for component, names := range contractFields {
		for name, property := range document.Components.Schemas[component].Properties {
			check.Want(t, !slices.Contains(strings.Fields(names), name), property.Addition, component+"."+name)
		}
	}
	var marked []string
	for path, item := range document.Paths {
		for _, one := range item.Get.Parameters {
			if one.Addition {
				marked = append(marked, path+" "+one.Name)
			}
		}
	}
	slices.Sort(marked)
	check.Want(t, "/v2/daos flagged, /v2/proposals flagged, /v2/proposals q", strings.Join(marked, ", "))
}

func TestEveryTypeAndFieldIsDescribed(t *testing.T) {
	t.Parallel()
	for _, route := range routes.All() {
		if route.Returns == nil {
			t.Errorf("%s: got no type of data, want one in the table of routes", route.ID)
		}
	}
	schemas := reference.Schemas()
	fields, types := maps.Clone(schemas.Descriptions.Fields), maps.Clone(schemas.Descriptions.Types)
	for _, component := range schemas.Components() {
		if delete(types, component.Name); component.Value.Description == "" {
			t.Errorf("got no description of %s, want it in descriptions.json", component.Name)
		}
		for _, property := range component.Value.Properties {
			key := component.Name + "." + property.Name
			if _, own := schemas.Descriptions.Fields[key]; !own {
				key = property.Name
			}
			if delete(fields, key); property.Value.Description == "" {
				t.Errorf("got no description of %s.%s, want it in descriptions.json", component.Name, property.Name)
			}
		}
	}
	if len(fields)+len(types) > 0 {
		t.Errorf("got descriptions of %v and %v, which no answer has", fields, types)
	}
}

func TestExamplesMatchTheirSchemas(t *testing.T) {
	t.Parallel()
	text := openAPI(t)
	type content map[string]struct {
		Example  json.RawMessage
		Examples map[string]struct{ Value json.RawMessage }
	}
	var document struct {
		Paths map[string]struct {
			Get struct {
				Responses map[string]struct{ Content content }
			}
		}
		Components struct {
			Responses map[string]struct{ Content content }
		}
	}
	check.MustDo(t, json.Unmarshal(text, &document))
	contract := openapitest.New(t, text)
	for path, item := range document.Paths {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			body, isJSON := item.Get.Responses["200"].Content["application/json"]
			if !isJSON {
				return // a file
			}
			example := body.Example
			check.WantError(t, nil, contract.Check(path, 200, nil, example))
		})
	}
	var shown []string
	for _, response := range document.Components.Responses {
		for code, example := range response.Content["application/json"].Examples {
			shown = append(shown, code)
			t.Run(code, func(t *testing.T) {
				t.Parallel()
				status := 500
				if code == string(apierror.CodeValidation) {
					status = 400
				}
				check.WantError(t, nil, contract.Check("/v2/daos", status, nil, example.Value))
			})
		}
	}
	for _, info := range api.Codes(false) {
		if info.Code != apierror.CodeMethodNotAllowed && !slices.Contains(shown, string(info.Code)) {
			t.Errorf("%s %s: got no example, want one", strconv.Itoa(info.Status), info.Code)
		}
	}
}

// The dossiers of the documents are what the schema says.
func TestDossiersMatchTheirSchema(t *testing.T) {
	t.Parallel()
	contract := openapitest.New(t, openAPI(t))
	paths, err := filepath.Glob("../docs/examples/dossiers/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("got no dossiers (%v)", err)
	}
	for _, path := range paths {
		text := check.Must(os.ReadFile(path))(t)
		valid := func(text []byte) error {
			body := fmt.Appendf(nil, `{"data":{"proposal":{"proposalKey":"p1_f_XfJz_6yGy1gCgoSU2qbg","title":null,"sourceUrl":null},"provenance":[],"intelligence":%s,`+
				`"qualityFlags":[],"warnings":[],"corrections":[]},"meta":{"requestId":"4bf92f35-77b3-4da6-a3ce-929d0e0e4736","generatedAt":"2026-01-31T12:00:00.000Z",`+
				`"dataAsOf":"2026-01-31T12:00:00.000Z","readiness":{"status":"ready"}}}`, bytes.ReplaceAll(text, []byte(`"p1_earlier"`), []byte(`"p1_f_XfJz_6yGy1gCgoSU2qbg"`)))
			return contract.Check("/v2/proposals/{proposalKey}/evidence", 200, nil, body)
		}
		check.WantError(t, nil, valid(text), path)
		if valid(bytes.Replace(text, []byte(`"marginPower"`), []byte(`"margin"`), 1)) == nil {
			t.Errorf("%s: a dossier without a field is accepted", path)
		}
	}
}
