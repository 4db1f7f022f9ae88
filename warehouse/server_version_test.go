package warehouse_test

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"pnyx/test/env"
	"pnyx/warehouse"
)

// aging forwards connections to a ClickHouse server, which greets as version 25.8.
func aging(t *testing.T, address string) (forward string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	serve := func(client net.Conn) {
		defer client.Close()
		server, err := net.Dial("tcp", address)
		if err != nil {
			return
		}
		defer server.Close()
		go func() { _, _ = io.Copy(server, client) }()
		hello := make([]byte, 4096)
		n, _ := server.Read(hello)
		if at := bytes.Index(hello[:n], []byte("ClickHouse")); at > 0 {
			copy(hello[at+len("ClickHouse"):], []byte{25, 8})
		}
		_, _ = client.Write(hello[:n])
		_, _ = io.Copy(client, server)
	}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go serve(client)
		}
	}()
	return listener.Addr().String()
}

func TestAnOldClickHouseIsRefused(t *testing.T) {
	t.Parallel()
	address, err := url.Parse(env.DatabaseURL(t))
	if err != nil {
		t.Fatal(err)
	}
	address.Host = aging(t, address.Host)
	_, err = warehouse.Open(t.Context(), warehouse.Options{
		URL: address.String(), QueryTimeout: time.Minute, MaxMemory: 1 << 30, Logger: slog.New(slog.DiscardHandler),
	})
	if err == nil || !strings.Contains(err.Error(), "is ClickHouse 25.8; want at least 26.7") {
		t.Errorf("got %v, want that the server is too old", err)
	}
}
