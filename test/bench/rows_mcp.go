package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
)

// mcpCall is a call of a free tool with a short answer, as clients of 2026-07-28 send it.
const mcpCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_dao","arguments":{"daoId":%q},` +
	`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`

// mcpHeader returns the headers of mcpCall.
func mcpHeader() http.Header {
	return http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"get_dao"},
	}
}

// mcpRows compare a call of a tool with the route that it reads: it sends the data twice,
// as text and as structure.
func mcpRows() []Row {
	return []Row{
		{
			ID: "mcp-http", Name: "call of get_dao over MCP", Baseline: "the HTTP route with the same data", Unit: "requests/s",
			Rounds: 7, Quick: 3,
			Prepare: func(ctx context.Context, e *Environment) (Sides, error) {
				measure, _, route, err := e.getDAO(ctx)
				return Sides{Pnyx: measure, Baseline: e.Saturate(route, nil)}, err
			},
		},
		{
			ID: "mcp-fiber", Name: "call of get_dao over MCP", Baseline: "plain Fiber handler, POST, constant body", Unit: "requests/s",
			Rounds: 3, Quick: 1,
			Prepare: func(ctx context.Context, e *Environment) (Sides, error) {
				measure, size, _, err := e.getDAO(ctx)
				if err != nil {
					return Sides{}, err
				}
				baseline, err := e.FiberBaseline(ctx, size, "")
				return Sides{Pnyx: measure, Baseline: e.saturatePost(baseline, mcpHeader(), mcpCall)}, err
			},
		},
	}
}

// getDAO returns a measure of calls of get_dao, the size of an answer, and the URL of the
// route that has the same data.
func (e *Environment) getDAO(ctx context.Context) (calls Measure, size int, route string, err error) {
	base, _, err := e.API(ctx)
	if err != nil {
		return nil, 0, "", err
	}
	_, text, err := get(ctx, base+"/v2/daos?limit=1", nil)
	if err != nil {
		return nil, 0, "", err
	}
	var list struct {
		Data []struct {
			DAOID string `json:"daoId"`
		} `json:"data"`
	}
	if err := json.Unmarshal(text, &list); err != nil || len(list.Data) == 0 {
		return nil, 0, "", fmt.Errorf("the list of DAOs: %w: %s", err, text)
	}
	id := list.Data[0].DAOID
	body := fmt.Sprintf(mcpCall, id)
	size, err = sizeOfCall(ctx, base+"/mcp", body)
	return e.saturatePost(base+"/mcp", mcpHeader(), body), size, base + "/v2/daos/" + id, err
}

// sizeOfCall returns the size of the answer to a call, which must not be an error of the
// tool: those have status 200, too.
func sizeOfCall(ctx context.Context, url, body string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader([]byte(body)))
	if err != nil {
		return 0, err
	}
	request.Header = mcpHeader()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && (response.StatusCode != http.StatusOK || !bytes.Contains(text, []byte(`"structuredContent":{"data":`))) {
		err = fmt.Errorf("%s answers %d: %s", url, response.StatusCode, text)
	}
	return len(text), err
}

// saturatePost is Saturate for a POST.
func (e *Environment) saturatePost(url string, header http.Header, body string) Measure {
	return func(ctx context.Context) (float64, error) {
		script := filepath.Join(e.Dir, "post.lua")
		text := "wrk.method = \"POST\"\nwrk.body = " + strconv.Quote(body) + "\n"
		if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
			return 0, err
		}
		return e.saturate(ctx, url, header, "-s", script)
	}
}
