package proxy

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// FuzzFilter reads requests of strangers. What passes has parameters on the lists alone, once
// each, and neither a user nor a password.
func FuzzFilter(f *testing.F) {
	for _, seed := range [][3]string{
		{"query=SELECT+1&database=default&user=a&password=b", "", "SELECT 1"},
		{"param_x=1&join_use_nulls=1&buffer_size=100&wait_end_of_query=1", "text/plain; charset=utf-8", ""},
		{"format_template_row=/etc/passwd", "application/json", "a"},
		{"t_structure=x+Int8&t_format=CSV", "multipart/form-data; boundary=a", "--a--"},
		{"query=1&query=2&decompress=1", ";", ""},
		{"buffer_size=-1&session_id=a&readonly=0", "TEXT/PLAIN", ""},
		{"READONLY=0&Query=1&%00=1&param_=1", "text/plain;a=b;a=c", ""},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, query, contentType, sent string) {
		parameters, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		p := &Proxy{Options: Options{Database: "pnyx_views", Settings: []string{"join_use_nulls", "max_threads"}}}
		request := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(sent))
		request.Header.Set("Content-Type", contentType)
		body, refused := p.filter(httptest.NewRecorder(), request, parameters)
		if refused != nil {
			if refused.status < 400 || refused.reason == "" {
				t.Fatalf("%q: got the refusal %+v, want a status and a reason", query, refused)
			}
			return
		}
		if string(body) != sent || strings.Contains(strings.ToLower(contentType), "multipart") {
			t.Fatalf("%q (%q): got the body %q, want %q", query, contentType, body, sent)
		}
		again, err := url.ParseQuery(parameters.Encode())
		if err != nil || !maps.EqualFunc(again, parameters, slices.Equal[[]string]) {
			t.Fatalf("%q: got %v (%v) when it is passed on, want %v", query, again, err, parameters)
		}
		allowed := slices.Concat(knownParameters(), p.Settings)
		for name, values := range again {
			if name == "user" || name == "password" || len(values) != 1 || !strings.HasPrefix(name, placeholder) && !slices.Contains(allowed, name) {
				t.Fatalf("%q: %q = %q is passed on", query, name, values)
			}
		}
	})
}
