package cmd

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"
)

func (n *node) listen(opened *net.Listener, setting, address string) error {
	listener, err := listen(setting, address)
	if err != nil {
		return err
	}
	*opened = listener
	n.undo.add(func() error {
		if err := listener.Close(); !errors.Is(err, net.ErrClosed) { // its server may have closed it
			return err
		}
		return nil
	})
	return nil
}

func (n *node) listenForAPI() error { return n.listen(&n.listener, "PNYX_LISTEN", n.cfg.API.Listen) }

func (n *node) listenForAdmin() error {
	return n.listen(&n.admin, "PNYX_ADMIN_LISTEN", n.cfg.API.AdminListen)
}

// listen opens the address of a setting. Errors name the setting, and a Pnyx that has the address.
func listen(setting, address string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address) //nolint:noctx // it ends with the process
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s=%s: the address is in use by %s: stop it, or set %s to another address",
			setting, address, identifyListener(address), setting)
	}
	if err != nil {
		return nil, fmt.Errorf("%s=%s: %w", setting, address, err)
	}
	return listener, nil
}

func checkFree(setting, address string) error {
	listener, err := listen(setting, address)
	if err != nil {
		return err
	}
	return listener.Close()
}

// identifyListener names the program that has an address: a Pnyx by its identity or its llms.txt.
func identifyListener(address string) string {
	if line := firstLine("http://" + address + "/"); strings.HasPrefix(line, "Pnyx ") {
		return "another " + line
	}
	if firstLine("http://"+address+"/llms.txt") == "# Pnyx" {
		return "the API of another Pnyx, http://" + address + "/docs"
	}
	return "another program"
}

// firstLine returns the first line at a URL, printable, or "" if there is no answer in time.
func firstLine(url string) string {
	const maxBytes = 200
	client := http.Client{Timeout: time.Second}
	response, err := client.Get(url) //nolint:noctx // the client has a timeout
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxBytes))
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return printable(line)
}

func (n *node) identity() string {
	line := fmt.Sprintf("Pnyx (process %d, health and metrics on http://%s", os.Getpid(), n.cfg.API.AdminListen)
	if n.listener != nil {
		line += ", API on http://" + n.cfg.API.Listen
	}
	return line + ")"
}
