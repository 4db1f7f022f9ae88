package cmd

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/shopspring/decimal"
	"github.com/spf13/cobra"

	"pnyx/api"
	"pnyx/api/doc"
	"pnyx/cache"
	"pnyx/config"
	"pnyx/governance"
	"pnyx/governance/rules"
)

func openapiCommand() *cobra.Command {
	var docs string
	cmd := &cobra.Command{
		Use:   "openapi",
		Short: "Print the OpenAPI document of the API",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if docs != "" {
				return renewDocs(docs)
			}
			return task(func(cmd *cobra.Command, _ []string, cfg config.Config, _ *slog.Logger) error {
				charged, err := charged(cfg.Payment)
				if err != nil {
					return err
				}
				text, err := doc.OpenAPI(charged)
				if err != nil {
					return err
				}
				_, err = cmd.OutOrStdout().Write(text)
				return err
			})(cmd, args)
		},
	}
	cmd.Flags().StringVar(&docs, "docs", "", "renew the documents in this folder that are made from the code")
	return cmd
}

// charged is what paid routes cost, as the API tells it.
func charged(settings config.Payment) (api.Prices, error) {
	charged := api.Prices{Token: settings.Symbol, Network: settings.Network, Paid: map[string]governance.Decimal{}}
	texts, err := prices(settings)
	if err != nil {
		return api.Prices{}, err
	}
	for route, text := range texts {
		price, err := decimal.NewFromString(text)
		if err != nil {
			return api.Prices{}, fmt.Errorf("the price of %s: %w", route, err)
		}
		charged.Paid[route] = governance.DecimalOf(price)
	}
	return charged, nil
}

// renewDocs writes what `make docs` keeps in the repository: with default settings,
// whatever the environment says. A changed surface under an unchanged version is
// refused.
func renewDocs(dir string) error {
	cfg, err := config.Parse(nil)
	if err != nil {
		return err
	}
	charged, err := charged(cfg.Payment)
	if err != nil {
		return err
	}
	document, err := doc.OpenAPI(charged)
	if err != nil {
		return err
	}
	decisions, err := doc.Decisions()
	if err != nil {
		return err
	}
	caching, err := doc.CachingTable()
	if err != nil {
		return err
	}
	path := filepath.Join(dir, "agent-v2.json")
	before, err := os.ReadFile(path) //nolint:gosec // the folder that the caller names
	if err == nil {
		if err := doc.CheckVersion(before, document); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	for name, text := range map[string][]byte{
		"agent-v2.json": document, "decisions.md": decisions, "rules.md": rules.Rulebook(),
		"caching.md": caching, "keys.md": cache.KeyTable(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil { //nolint:gosec // a document
			return err
		}
	}
	return nil
}
