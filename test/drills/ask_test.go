package drills

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"pnyx/governance"
)

// patience bounds a request, well above every timeout of the service.
const patience = 15 * time.Second

// callers keeps as many connections as there are concurrent requests.
var callers = &http.Client{
	Timeout:   patience,
	Transport: &http.Transport{MaxIdleConnsPerHost: 500, IdleConnTimeout: 5 * time.Second},
}

type reply struct {
	status int
	header http.Header
	text   string
	// transport is the error of a request without a response, err what is wrong with the form of one.
	transport, err error

	Data  json.RawMessage `json:"data"`
	Error *struct {
		Code    string         `json:"code"`
		Message string         `json:"message"`
		Details map[string]any `json:"details"`
	} `json:"error"`
	Meta struct {
		RequestID   string               `json:"requestId"`
		GeneratedAt governance.Timestamp `json:"generatedAt"`
		DataAsOf    governance.Timestamp `json:"dataAsOf"`
		Readiness   struct {
			Status string `json:"status"`
		} `json:"readiness"`
		Page *struct {
			HasMore    bool    `json:"hasMore"`
			NextCursor *string `json:"nextCursor"`
		} `json:"page"`
	} `json:"meta"`
}

func ask(url string, headers map[string]string) (r reply) {
	request, err := http.NewRequest(http.MethodGet, url, http.NoBody)
	if err != nil {
		return reply{transport: err}
	}
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	response, err := callers.Do(request)
	if err != nil {
		return reply{transport: err}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return reply{transport: fmt.Errorf("GET %s: %d, then %w", url, response.StatusCode, err)}
	}
	r.status, r.header, r.text = response.StatusCode, response.Header, string(text)
	r.err = json.Unmarshal(text, &r)
	return r
}

// dossierPends reports whether evidence was sent before its dossier was computed.
func (r *reply) dossierPends() bool {
	return bytes.Contains(r.Data, []byte(`"intelligence":{"status":"pending"`))
}

// dishonest reports what the form of an answer or error lacks.
func (r *reply) dishonest(clockIsWrong bool) error {
	switch {
	case r.err != nil:
		return fmt.Errorf("no envelope: %w", r.err)
	case r.Meta.RequestID == "":
		return errors.New("no request id")
	case r.status == http.StatusOK:
		return r.dishonestAnswer(clockIsWrong)
	case r.Error == nil || r.Error.Code == "" || r.Error.Message == "" || r.Error.Details == nil:
		return errors.New("an error without code, message or details")
	case r.status != http.StatusServiceUnavailable && r.status != http.StatusTooManyRequests:
		return nil
	}
	if after, err := strconv.Atoi(r.header.Get("Retry-After")); err != nil || after < 1 {
		return fmt.Errorf("Retry-After %q", r.header.Get("Retry-After"))
	}
	return nil
}

func (r *reply) dishonestAnswer(clockIsWrong bool) error {
	meta := r.Meta
	switch {
	case len(r.Data) == 0:
		return errors.New("no data")
	case meta.DataAsOf.Time().IsZero(), meta.DataAsOf.Time().After(meta.GeneratedAt.Time()) && !clockIsWrong:
		return fmt.Errorf("dataAsOf %s, generatedAt %s", meta.DataAsOf, meta.GeneratedAt)
	case !slices.Contains([]string{"ready", "stale", "backfilling", "unavailable"}, meta.Readiness.Status):
		return fmt.Errorf("readiness %q", meta.Readiness.Status)
	}
	return nil
}
