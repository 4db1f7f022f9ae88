package telemetry_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"pnyx/telemetry"
	"pnyx/test/env"
)

//nolint:paralleltest // the handler of errors is the process's
func TestAKeyInTheAddressOfACollectorIsNotLogged(t *testing.T) {
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer refuses.Close()
	for address, want := range map[string]string{refuses.URL: "401", "http://127.0.0.1:0": "dial tcp"} {
		var log strings.Builder
		tracer := env.Must(telemetry.NewTracer(t.Context(), telemetry.ExportOptions{
			Endpoint: address + "/the key/", Ratio: 1, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		}))(t)
		_, span := tracer.StartRoot(t.Context(), "work", trace.SpanKindInternal)
		span.End()
		env.MustDo(t, tracer.Shutdown(t.Context()))
		env.WantPart(t, want, log.String(), "log")
		if strings.Contains(log.String(), "key") {
			t.Errorf("the key is in the log: %s", &log)
		}
	}
}

//nolint:paralleltest // the handler of errors is the process's
func TestUserAndPasswordOfACollectorAreSent(t *testing.T) {
	authorized := make(chan bool, 1)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		authorized <- user == "pnyx" && password == "a key"
	}))
	defer collector.Close()
	tracer := env.Must(telemetry.NewTracer(t.Context(), telemetry.ExportOptions{
		Endpoint: strings.Replace(collector.URL, "//", "//pnyx:a%20key@", 1), Ratio: 1, Logger: slog.New(slog.DiscardHandler),
	}))(t)
	_, span := tracer.StartRoot(t.Context(), "work", trace.SpanKindInternal)
	span.End()
	env.MustDo(t, tracer.Shutdown(t.Context()))
	env.Want(t, true, <-authorized, "is authorized")
}
