package mcp_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"pnyx/access"
	"pnyx/mcp"
	"pnyx/test/apinode"
)

// hotCall is a call of a free tool with a short answer, as clients of 2026-07-28 send it.
const hotCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_dao","arguments":{"daoId":"dao-000"},` +
	`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`

// BenchmarkHot compares a call of a tool with the route that it reads, on one connection.
func BenchmarkHot(b *testing.B) {
	n := startNode(b, apinode.Settings{Unlogged: true})
	header := "Host: localhost\r\n" + access.HeaderInternal + ": " + apinode.InternalToken + "\r\n"
	for name, request := range map[string]string{
		"http": "GET /v2/daos/dao-000 HTTP/1.1\r\n" + header + "\r\n",
		"mcp": fmt.Sprintf("POST %s HTTP/1.1\r\n%sContent-Type: application/json\r\nMcp-Protocol-Version: 2026-07-28\r\n"+
			"Mcp-Method: tools/call\r\nMcp-Name: get_dao\r\nContent-Length: %d\r\n\r\n%s", mcp.Path, header, len(hotCall), hotCall),
	} {
		b.Run(name, func(b *testing.B) {
			conn, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", strings.TrimPrefix(n.Base, "http://"))
			if err != nil {
				b.Fatal(err)
			}
			defer conn.Close()
			var response fasthttp.Response
			reader := bufio.NewReader(conn)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := conn.Write([]byte(request)); err != nil {
					b.Fatal(err)
				}
				if err := response.Read(reader); err != nil || response.StatusCode() != http.StatusOK {
					b.Fatalf("got %d %s, %v", response.StatusCode(), response.Body(), err)
				}
			}
		})
	}
}
