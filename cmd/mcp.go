package cmd

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"pnyx/access"
	"pnyx/config"
	"pnyx/fetch"
	"pnyx/mcp"
)

const (
	// maxMCPLine bounds a message of the client, in bytes: above the bound of nodes, whose error has the message's
	// id.
	maxMCPLine   = 1 << 20
	maxMCPAnswer = 4 << 20
	maxMCPCalls  = 8 // at once
	// mcpTimeout bounds one call. It is above the time that a payment may take.
	mcpTimeout = 2 * time.Minute
)

func mcpCommand() *cobra.Command {
	var address string
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Offer the API's tools to an MCP client, over standard input and output",
		Long: `Pass messages of the Model Context Protocol from standard input to the server at /mcp of
an API node, and its answers to standard output, one message a line. The client starts this
program; the tools are the node's. Clients that speak HTTP need no program: they
connect to /mcp itself. docs/partners.md has the set-up of each well-known client.

A partner token is read from PNYX_TOKEN. Without one, free tools work.`,
		Example: `  pnyx mcp --url https://api.example.org
  claude mcp add pnyx --env PNYX_TOKEN=… -- pnyx mcp --url https://api.example.org`,
		Args: cobra.NoArgs,
		RunE: task(func(cmd *cobra.Command, _ []string, s *session) error {
			pipe, err := newMCPPipe(cmp.Or(address, s.cfg.MCP.URL), string(s.cfg.MCP.Token), cmd.OutOrStdout(), s.logger)
			if err != nil {
				return err
			}
			return pipe.run(cmd.Context(), cmd.InOrStdin())
		}),
	}
	cmd.Flags().StringVar(&address, "url", "", "address of the API, before /mcp (default: PNYX_URL)")
	return cmd
}

// mcpPipe passes messages on. It knows how they are sent, and no tool.
type mcpPipe struct {
	endpoint, token string
	client          *http.Client
	logger          *slog.Logger

	mu  sync.Mutex // guards the fields below
	out io.Writer
	// version is the one that an initialize agreed on. Clients of 2026-07-28 state theirs in each message.
	version string
}

func newMCPPipe(address, token string, out io.Writer, logger *slog.Logger) (*mcpPipe, error) {
	base, err := url.Parse(address)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" || base.RawQuery != "" || base.User != nil || base.Fragment != "" {
		return nil, fmt.Errorf("mcp --url %q: want http:// or https:// and the host of the API, without user and password", config.SecretURL(address))
	}
	return &mcpPipe{
		endpoint: strings.TrimSuffix(strings.TrimSuffix(base.String(), "/"), mcp.Path) + mcp.Path,
		token:    token, out: out, logger: logger,
		client: &http.Client{Timeout: mcpTimeout, CheckRedirect: fetch.RefuseRedirect},
	}, nil
}

// run passes messages on until the input ends and the last call is answered, or the context ends. Errors of calls
// become answers; the error returned concerns input or output.
func (p *mcpPipe) run(ctx context.Context, in io.Reader) error {
	calls, ctx := errgroup.WithContext(ctx)
	calls.SetLimit(maxMCPCalls)
	lines, ended := make(chan []byte), make(chan error, 1)
	go func() { // a read of standard input cannot be interrupted
		ended <- readMCPLines(ctx, in, lines)
		close(lines)
	}()
	for {
		select {
		case line, more := <-lines:
			if !more {
				return errors.Join(calls.Wait(), <-ended)
			}
			calls.Go(func() error { return p.call(ctx, line) })
		case <-ctx.Done():
			return cmp.Or(calls.Wait(), context.Cause(ctx))
		}
	}
}

// readMCPLines sends each line that is not empty. Of a line that is too long it sends one byte more than allowed.
func readMCPLines(ctx context.Context, in io.Reader, lines chan<- []byte) error {
	reader := bufio.NewReaderSize(in, maxMCPLine+1)
	for {
		text, err := reader.ReadSlice('\n')
		line := bytes.TrimSpace(bytes.Clone(text))
		if errors.Is(err, bufio.ErrBufferFull) {
			line = bytes.Clone(text)
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = reader.ReadSlice('\n')
			}
		}
		if len(line) > 0 {
			select {
			case lines <- line:
			case <-ctx.Done():
				return nil
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read standard input: %w", err)
		}
	}
}

type mcpMessage struct {
	// ID is absent in notifications.
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name string `json:"name"`
		URI  string `json:"uri"`
		Meta struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	} `json:"params"`
}

// call passes one message on, and writes its answer. It fails only if the output does.
func (p *mcpPipe) call(ctx context.Context, line []byte) error {
	switch {
	case len(line) > maxMCPLine:
		return p.writeError(nil, mcp.CodeInvalidRequest, fmt.Errorf("message over %d bytes", maxMCPLine))
	case !json.Valid(line):
		return p.writeError(nil, mcp.CodeParse, errors.New("the line is not JSON: want one message of JSON-RPC a line"))
	}
	var message mcpMessage
	_ = json.Unmarshal(line, &message) // a field of another type is for the node to refuse
	answer, err := p.post(ctx, line, message)
	switch isNotification := message.Method != "" && message.ID == nil; {
	case isNotification && err != nil:
		p.logger.LogAttrs(ctx, slog.LevelWarn, "notification failed", slog.String("method", message.Method), slog.Any("error", err))
		return nil
	case err != nil:
		return p.writeError(message.ID, mcp.CodeInternal, err)
	case isNotification, len(answer) == 0: // nothing is said to an answer of the client
		return nil
	}
	return p.write(answer)
}

// post sends a message to the node and returns its answer in one line; empty if it needs none.
func (p *mcpPipe) post(ctx context.Context, line []byte, message mcpMessage) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.endpoint, bytes.NewReader(line))
	if err != nil {
		return nil, err
	}
	p.setHeaders(request.Header, message)
	response, err := p.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxMCPAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("POST %s: read the answer: %w", p.endpoint, err)
	}
	if response.StatusCode == http.StatusAccepted && (message.ID == nil || message.Method == "") {
		return nil, nil
	}
	var answer struct {
		JSONRPC string `json:"jsonrpc"`
		Result  struct {
			Version string `json:"protocolVersion"`
		} `json:"result"`
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, body); err == nil {
		_ = json.Unmarshal(body, &answer) // judged by what it has
	}
	if answer.JSONRPC == "" {
		return nil, fmt.Errorf("POST %s: HTTP %d %s: want an answer of MCP, got %d bytes", p.endpoint, response.StatusCode,
			cmp.Or(answer.Error.Message, http.StatusText(response.StatusCode)), len(body))
	}
	if message.Method == "initialize" && answer.Result.Version != "" {
		p.mu.Lock()
		p.version = answer.Result.Version
		p.mu.Unlock()
	}
	return compact.Bytes(), nil
}

// setHeaders makes the headers from the message, as all revisions of the protocol want them.
func (p *mcpPipe) setHeaders(header http.Header, message mcpMessage) {
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "application/json, text/event-stream")
	p.mu.Lock()
	version := cmp.Or(message.Params.Meta.Version, p.version)
	p.mu.Unlock()
	name, _ := mcp.NameOf(message.Method, message.Params.Name, message.Params.URI)
	for key, value := range map[string]string{
		mcp.HeaderVersion: version, mcp.HeaderMethod: message.Method, mcp.HeaderName: mcp.EncodeHeader(name),
		access.HeaderToken: p.token,
	} {
		if value != "" {
			header.Set(key, value)
		}
	}
}

// writeError answers a message with an error; a nil id means a message without one.
func (p *mcpPipe) writeError(id json.RawMessage, code int, problem error) error {
	line, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": problem.Error()},
	})
	if err != nil {
		return fmt.Errorf("encode an error: %w", err)
	}
	return p.write(line)
}

func (p *mcpPipe) write(message []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := p.out.Write(append(message, '\n')); err != nil {
		return fmt.Errorf("write standard output: %w", err)
	}
	return nil
}
