package env

import (
	"bufio"
	"io"
	"net"
	"slices"
	"strings"
	"time"
)

// Monitor records the server's commands until the returned function returns those that contain a text.
func (s *RedisServer) Monitor() (commands func(part string) []string) {
	s.tb.Helper()
	conn := Must(new(net.Dialer).DialContext(s.tb.Context(), "tcp", s.Addr))(s.tb)
	s.tb.Cleanup(func() { conn.Close() })
	lines := bufio.NewScanner(conn)
	MustDo(s.tb, conn.SetDeadline(time.Now().Add(soon)))
	if _, err := io.WriteString(conn, "MONITOR\r\n"); err != nil || !lines.Scan() || lines.Text() != "+OK" {
		s.tb.Fatalf("monitor %s: got %q, %v, want +OK", s.Addr, lines.Text(), err)
	}
	return func(part string) []string {
		s.tb.Helper()
		const end = "the end of the monitor"
		MustDo(s.tb, s.ask("echo", end).Err())
		var seen []string
		for lines.Scan() && !strings.Contains(lines.Text(), end) {
			seen = append(seen, lines.Text())
		}
		MustDo(s.tb, lines.Err())
		return slices.DeleteFunc(seen, func(command string) bool { return !strings.Contains(command, part) })
	}
}
