package cmd

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"pnyx/warehouse/accounts"
	"pnyx/worker/webhook"
)

// webhookLine is an endpoint in a file of webhook add, one JSON object a line.
type webhookLine struct {
	Token string   `json:"token"`
	URL   string   `json:"url"`
	Types []string `json:"types"`
	DAOs  []string `json:"daos"`
}

// addedWebhook is a line that webhook add --file prints.
type addedWebhook struct {
	ID     string `json:"id"`
	Token  string `json:"token"`
	URL    string `json:"url"`
	Secret string `json:"secret"`
}

// addFile adds the endpoints of a file, "-" for the standard input, and prints each with its secret. It checks all
// of them before it adds the first. Endpoints without a token get the one with tokenID.
func (a webhookAdmin) addFile(cmd *cobra.Command, name, tokenID string) error {
	const maxWebhookFile = 4 << 20 // bounds a file of endpoints, in bytes
	text, err := readBounded(cmd.InOrStdin(), name, maxWebhookFile)
	if err != nil {
		return fmt.Errorf("read the endpoints: %w", err)
	}
	endpoints, err := parseWebhooks(text, tokenID)
	if err != nil {
		return err
	}
	known, err := accounts.NewAccounts(a.warehouse).Webhooks(cmd.Context())
	if err != nil {
		return err
	}
	if len(known)+len(endpoints) > webhook.MaxEndpoints {
		return fmt.Errorf("there are %d webhooks and %d in the file, and %d is the maximum", len(known), len(endpoints), webhook.MaxEndpoints)
	}
	if err := a.checkAll(cmd.Context(), endpoints); err != nil {
		return err
	}
	out := json.NewEncoder(cmd.OutOrStdout())
	for i := range endpoints {
		e := &endpoints[i]
		if err := a.put(cmd.Context(), e); err != nil {
			return fmt.Errorf("endpoint %d, those before are added: %w", i+1, err)
		}
		if err := out.Encode(addedWebhook{e.ID, e.TokenID, e.URL, e.Secret}); err != nil { //nolint:gosec // the operator hands it to the partner
			return err
		}
	}
	return nil
}

func (a webhookAdmin) checkAll(ctx context.Context, endpoints []accounts.Webhook) error {
	var wrong []error
	for i := range endpoints {
		if err := a.check(ctx, endpoints[i]); err != nil {
			wrong = append(wrong, fmt.Errorf("endpoint %d: %w", i+1, err))
		}
	}
	return errors.Join(wrong...)
}

func parseWebhooks(text []byte, tokenID string) (endpoints []accounts.Webhook, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	for {
		var line webhookLine
		err := decoder.Decode(&line)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf(`endpoint %d: %w; want {"token": "ID", "url": "https://…", "types": ["event.*"], "daos": ["ID"]}, the last one or not`, len(endpoints)+1, err)
		}
		endpoints = append(endpoints, accounts.Webhook{TokenID: cmp.Or(line.Token, tokenID), URL: line.URL, Types: line.Types, DAOIDs: line.DAOs})
	}
	if len(endpoints) == 0 {
		return nil, errors.New("the file has no endpoint")
	}
	return endpoints, nil
}
