package main

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"time"
)

const connections = 64

// Saturate returns a measure of the requests per second that a URL answers to a closed load of 64 connections, by
// wrk, on a separate core.
func (e *Environment) Saturate(url string, header http.Header) Measure {
	return func(ctx context.Context) float64 { return e.saturate(ctx, url, header) }
}

// saturate measures the requests per second of Saturate; flags are further ones of wrk.
func (e *Environment) saturate(ctx context.Context, url string, header http.Header, flags ...string) float64 {
	length := 4 * time.Second
	if e.Quick {
		length = 2 * time.Second
	}
	args := append([]string{"wrk", "-t", "1", "-c", strconv.Itoa(connections), "-d", fmt.Sprintf("%.0fs", length.Seconds())}, flags...)
	for name, values := range header {
		args = append(args, "-H", name+": "+values[0])
	}
	text := must(e.Run(ctx, Program{Args: append(args, url), Cores: e.LoadCores}))
	return must(readWrk(text))
}

var (
	wrkRate    = regexp.MustCompile(`Requests/sec:\s+([0-9.]+)`)
	wrkRefused = regexp.MustCompile(`Non-2xx or 3xx responses: (\d+)|Socket errors: .*`)
)

// readWrk parses the rate from the output of wrk. Errors among the responses are an error.
func readWrk(text string) (float64, error) {
	if refused := wrkRefused.FindString(text); refused != "" {
		return 0, fmt.Errorf("the load met with errors: %s", refused)
	}
	return rateIn(text, wrkRate)
}

// rateIn returns the number that a pattern finds in the output of a program.
func rateIn(text string, pattern *regexp.Regexp) (float64, error) {
	found := pattern.FindStringSubmatch(text)
	if found == nil {
		return 0, fmt.Errorf("no rate is printed: %s", text)
	}
	return strconv.ParseFloat(found[1], 64)
}
