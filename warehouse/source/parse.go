package source

import "pnyx/warehouse/record"

// Parse returns the record of one line in memory: an item of an upstream's answer. host is the forum's host, for
// formats whose lines do not state it. The error is a *RejectedError without file and line.
func (name Format) Parse(host string, text []byte) (record.Record, error) {
	parsed, reason := name.lookup().parse(&line{host: host}, text)
	if reason != "" {
		return nil, &RejectedError{Reason: reason, Text: record.Clip(string(text[:min(len(text), maxRejectedText+1)]), maxRejectedText)}
	}
	return parsed, nil
}
