package config_test

import (
	"bytes"
	"strings"
	"testing"

	"pnyx/config"
	"pnyx/test/check"
)

func TestSettingsOfTracesAreReadAndTheirHeadersHidden(t *testing.T) {
	t.Parallel()
	cfg := check.Must(config.Parse(map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": "http://user:hidden@collector:4318", "OTEL_TRACES_SAMPLER_ARG": "0.25",
		"OTEL_EXPORTER_OTLP_HEADERS": "api-key=hidden%20key%2C, tenant=a",
	}))(t)
	check.Want(t, 0.25, cfg.Trace.Ratio.Share(), "ratio")
	if got := cfg.Trace.Headers.Map(); len(got) != 2 || got["api-key"] != "hidden key," || got["tenant"] != "a" {
		t.Errorf("headers: got %v", got)
	}
	var printed bytes.Buffer
	if err := cfg.Print(&printed); err != nil || strings.Contains(printed.String(), "hidden") {
		t.Errorf("got %v and %s, want no secret", err, &printed)
	}
}

func TestInvalidTraceSettingsAreReported(t *testing.T) {
	t.Parallel()
	for name, values := range map[string][]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": {"collector:4318", "grpc://collector", "http://"},
		"OTEL_TRACES_SAMPLER_ARG":     {"1.5", "-0.1", "often", "1e-3"},
		"OTEL_EXPORTER_OTLP_HEADERS":  {"hidden", "api-key=", "=hidden", "a=hidden,,b=1", "a=hidden%zz"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, value := range values {
				_, err := config.Parse(map[string]string{name: value})
				if err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "hidden") {
					t.Errorf("%s=%s: got %v, want it refused, and not shown", name, value, err)
				}
			}
		})
	}
}
