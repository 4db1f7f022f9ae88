package telemetry

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
)

// Limits of the export. Spans that do not fit the queue are dropped, so that no request waits.
const (
	maxQueuedSpans  = 4096
	exportBatchSize = 512
	exportInterval  = 2 * time.Second
	exportTimeout   = 10 * time.Second
)

// ExportOptions configures the export of spans.
type ExportOptions struct {
	// Endpoint is the OTLP/HTTP collector, without the path of the signal. User and password in it are sent as
	// basic authentication.
	Endpoint string
	// Headers are sent with every export; they may contain credentials.
	Headers map[string]string
	// Ratio is the share of traces started here that are recorded, from 0 to 1.
	Ratio         float64
	Service, Role string
	Logger        *slog.Logger // gets failed exports
}

// NewTracer returns a tracer whose spans are sent to the collector in the background.
func NewTracer(ctx context.Context, o ExportOptions) (*Tracer, error) {
	address, err := url.Parse(o.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("address of the trace collector: %w", err)
	}
	address = address.JoinPath("v1", "traces")
	headers := map[string]string{}
	if user := address.User; user != nil { // the exporter ignores it
		password, _ := user.Password()
		headers["Authorization"] = "Basic " + base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password))
	}
	maps.Copy(headers, o.Headers)
	exporter, err := otlptracehttp.New(ctx,
		otlptracehttp.WithEndpointURL(address.String()), otlptracehttp.WithHeaders(headers),
		otlptracehttp.WithTimeout(exportTimeout), otlptracehttp.WithCompression(otlptracehttp.GzipCompression))
	if err != nil {
		return nil, fmt.Errorf("create the trace exporter: %w", err)
	}
	always, path := context.WithoutCancel(ctx), (&url.URL{Path: address.Path}).EscapedPath()
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		shown := strings.ReplaceAll(err.Error(), path, "/***") // the path may be a key
		o.Logger.LogAttrs(always, slog.LevelWarn, "exporting traces failed", slog.String("error", shown))
	}))
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(o.Ratio))),
		sdktrace.WithResource(resource.NewWithAttributes(semconv.SchemaURL,
			semconv.ServiceName(o.Service), semconv.ServiceInstanceID(rand.Text()), attribute.String("pnyx.role", o.Role),
		)),
		sdktrace.WithBatcher(exporter,
			sdktrace.WithMaxQueueSize(maxQueuedSpans), sdktrace.WithMaxExportBatchSize(exportBatchSize),
			sdktrace.WithBatchTimeout(exportInterval), sdktrace.WithExportTimeout(exportTimeout)),
	)
	return &Tracer{tracer: provider.Tracer("pnyx"), shutdown: provider.Shutdown}, nil
}

// Shutdown exports the queued spans, until ctx ends. The tracer records nothing after it.
func (t *Tracer) Shutdown(ctx context.Context) error {
	if err := t.shutdown(ctx); err != nil {
		return fmt.Errorf("export the last traces: %w", err)
	}
	return nil
}
