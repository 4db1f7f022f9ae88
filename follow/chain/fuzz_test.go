package chain_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pnyx/follow/chain"
	"pnyx/test/env"
	fake "pnyx/test/upstream/chain"
	"pnyx/warehouse/record"
)

// checkRecords fails the test unless records are of the Governor that is followed.
func checkRecords(t *testing.T, records []record.Record) {
	t.Helper()
	source := chain.SourceID(1, governorAddress)
	for _, r := range records {
		switch r := r.(type) {
		case *record.Source:
			env.Want(t, source, r.ID, "source")
		case *record.Proposal:
			if r.SourceID != source || !strings.HasPrefix(r.ExternalID, source+"/") {
				t.Errorf("got proposal %q of %q", r.ExternalID, r.SourceID)
			}
		case *record.Ballot:
			id, is := strings.CutPrefix(r.Proposal.ExternalID, source+"/")
			if !is || id == "" || strings.Trim(id, "0123456789") != "" {
				t.Errorf("got a vote on %q", r.Proposal.ExternalID)
			}
		default:
			t.Errorf("got a record of %s", r.Kind())
		}
	}
}

// FuzzAnswer reads bytes as all answers of an endpoint.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":"0x` + strings.Repeat("00", 31) + `12"}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{"number":"0x1","hash":"0x` + strings.Repeat("ab", 32) + `","timestamp":"0x69585e88"}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"query returned more than 10 results"}}`))
	f.Add([]byte(`[{"id":1,"result":[]},{"id":1,"Result":[[]]}]`))
	answers := &env.Answers{}
	host := answers.Host(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		answers.Body = body
		checkRecords(t, chain.Answered(t.Context(), host, governorAddress))
	})
}

func FuzzLogs(f *testing.F) {
	for _, l := range []fake.Log{created(1, 3, 1000), voted(ada, 1, 5e17)} {
		text, err := json.Marshal([]map[string]any{{
			"address": l.Address, "topics": l.Topics, "data": l.Data, "blockHash": "0x" + strings.Repeat("0", 64), "blockNumber": "0x1",
			"transactionHash": "0x" + strings.Repeat("0", 64), "logIndex": "0x0",
		}})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
		for _, lacks := range env.Lacking(f, string(text)) {
			f.Add([]byte(lacks))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) { checkRecords(t, chain.AnsweredLogs(text, governorAddress)) })
}
