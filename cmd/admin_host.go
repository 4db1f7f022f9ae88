package cmd

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// onlyPrivateHosts refuses requests whose Host is a name that another party may own. A page
// that a browser of this machine or network shows could otherwise read what the admin
// listener answers: its owner lets the page's own name resolve to the listener. listen is the
// address of the setting, whose name is accepted.
func onlyPrivateHosts(listen string, next http.Handler) http.Handler {
	own, _, _ := net.SplitHostPort(listen) // empty where every address is meant
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isPrivateHost(r.Host, own) {
			http.Error(w, "this name is not answered: use an IP address, localhost, a name without dots, or the host of PNYX_ADMIN_LISTEN",
				http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isPrivateHost reports whether a Host header is one that no public name resolves for: an IP
// address, a name without dots, one below localhost, the host own, or none.
func isPrivateHost(host, own string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	name = strings.ToLower(name)
	return !strings.Contains(name, ".") || strings.HasSuffix(name, ".localhost") || name == strings.ToLower(own)
}
