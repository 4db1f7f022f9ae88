package proxy

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync/atomic"
	"time"
)

const (
	// helloPacket and exceptionPacket are the numbers of two packets of the native protocol.
	helloPacket, exceptionPacket = 0, 2
	// maxWord bounds a text in the first packet: a name or a password, in bytes.
	maxWord = 1024
	// The codes of some of ClickHouse's errors.
	authenticationFailed, unknownDatabase, networkError = 516, 81, 210
)

// errMalformed reports a first packet that is none of the native protocol.
var errMalformed = errors.New("malformed hello packet")

// hello is the first packet of a native client.
type hello struct {
	// database, user and password are what the client signs in with.
	database, user, password string
	// before and after are the bytes of the packet around the database.
	before, after []byte
}

// packet returns the packet, with another database.
func (h hello) packet(database string) []byte {
	named := append(binary.AppendUvarint(bytes.Clone(h.before), uint64(len(database))), database...)
	return append(named, h.after...)
}

// readHello reads the first packet, and no byte after it.
func readHello(from *bufio.Reader) (hello, error) {
	var raw bytes.Buffer
	in := recorder{from, &raw}
	var words [4]string // name of the client, database, user, password
	var ends [4]int
	if packet, err := binary.ReadUvarint(in); err != nil || packet != helloPacket {
		return hello{}, errors.Join(errMalformed, err)
	}
	for i := range words {
		var err error
		if words[i], err = readWord(in); err != nil {
			return hello{}, err
		}
		for numbers := 3; i == 0 && numbers > 0; numbers-- { // the client's version follows its name
			if _, err := binary.ReadUvarint(in); err != nil {
				return hello{}, errors.Join(errMalformed, err)
			}
		}
		ends[i] = raw.Len()
	}
	return hello{
		database: words[1], user: words[2], password: words[3], before: raw.Bytes()[:ends[0]], after: raw.Bytes()[ends[1]:],
	}, nil
}

// readWord reads a text with its length in front.
func readWord(in recorder) (string, error) {
	length, err := binary.ReadUvarint(in)
	if err != nil || length > maxWord {
		return "", errors.Join(errMalformed, err)
	}
	word := make([]byte, length)
	for i := range word {
		if word[i], err = in.ReadByte(); err != nil {
			return "", errors.Join(errMalformed, err)
		}
	}
	return string(word), nil
}

// recorder keeps what is read.
type recorder struct {
	from *bufio.Reader
	raw  *bytes.Buffer
}

// ReadByte implements io.ByteReader.
func (r recorder) ReadByte() (byte, error) {
	b, err := r.from.ReadByte()
	if err == nil {
		r.raw.WriteByte(b)
	}
	return b, err
}

// exception returns a packet that says why a client is not served.
func exception(code uint32, message string) []byte {
	packet := binary.LittleEndian.AppendUint32([]byte{exceptionPacket}, code)
	for _, word := range []string{"DB::Exception", "DB::Exception: " + message, ""} {
		packet = append(binary.AppendUvarint(packet, uint64(len(word))), word...)
	}
	return append(packet, 0) // no further exception
}

// serveNative passes a native connection on, if the right user signs in. Everything is
// checked here that the embedded engine would refuse: it aborts when it refuses to let a
// native client in.
func (p *Proxy) serveNative(client *clientConn) {
	defer client.Close()
	first, err := readHello(client.reader)
	if err != nil {
		return
	}
	if reason := p.refuse(first.user, first.password); reason != "" {
		_, _ = client.Write(exception(authenticationFailed, reason))
		return
	}
	// Many clients name the database default when they are told none.
	if first.database != "" && first.database != "default" && first.database != p.Database {
		_, _ = client.Write(exception(unknownDatabase, fmt.Sprintf("want database %s", p.Database)))
		return
	}
	dialed, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(context.Background(), "tcp", p.TCPAddr)
	if err != nil {
		p.Logger.Warn("engine does not accept an analyst's connection", slog.Any("error", err))
		_, _ = client.Write(exception(networkError, "the engine is restarting, try again"))
		return
	}
	server := dialed.(*net.TCPConn) //nolint:errcheck,forcetypeassert // the network is tcp
	defer server.Close()
	if _, err := server.Write(first.packet(p.Database)); err != nil {
		return
	}
	limit := time.AfterFunc(maxSession, func() { client.Close() })
	defer limit.Stop()
	var active atomic.Int64
	p.running.Go(func() {
		copyRequests(server, client, &active)
		// The server ends a running query when the requests end, and then the connection.
		_ = server.CloseWrite()
		_ = server.SetReadDeadline(time.Now().Add(drainTimeout))
	})
	copyResults(client, server, &active)
}

// copyRequests copies from a client to the server, until the client is gone, takes nothing
// of its result, or nothing was sent in either direction for idleTimeout. active is the
// time of the last result, in nanoseconds.
func copyRequests(server *net.TCPConn, client *clientConn, active *atomic.Int64) {
	buffer := make([]byte, 32<<10)
	for {
		_ = client.SetReadDeadline(time.Now().Add(idleTimeout))
		n, err := client.Read(buffer)
		if n > 0 {
			_ = server.SetWriteDeadline(time.Now().Add(writeTimeout))
			if _, err := server.Write(buffer[:n]); err != nil {
				return
			}
		}
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() && time.Since(time.Unix(0, active.Load())) < idleTimeout {
			continue
		}
		if err != nil {
			return
		}
	}
}

// copyResults copies from the server to a client. When the client is gone, it closes the
// client's connection, and reads the server's to its end.
func copyResults(client *clientConn, server *net.TCPConn, active *atomic.Int64) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := server.Read(buffer)
		if n > 0 {
			active.Store(time.Now().UnixNano())
			_ = client.SetWriteDeadline(time.Now().Add(writeTimeout))
			if _, err := client.Write(buffer[:n]); err != nil {
				client.Close()
				_, _ = io.Copy(io.Discard, server)
				return
			}
		}
		if err != nil {
			return
		}
	}
}
