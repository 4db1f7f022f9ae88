package cmd

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"pnyx/api"
	"pnyx/config"
	"pnyx/follow/sources"
	"pnyx/governance/rules"
	"pnyx/reference"
	"pnyx/reference/client"
	"pnyx/warehouse"
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
			return task(func(cmd *cobra.Command, _ []string, s *session) error {
				prices, err := apiPrices(s.cfg.Payment)
				if err != nil {
					return err
				}
				text, err := reference.OpenAPI(reference.Node{Prices: prices, PublicURL: s.cfg.API.PublicURL})
				if err != nil {
					return err
				}
				_, err = cmd.OutOrStdout().Write(text)
				return err
			})(cmd, args)
		},
	}
	cmd.Flags().StringVar(&docs, "docs", "", "rewrite the generated documents and tables in this folder, and the clients beside it")
	return cmd
}

// renewDocs writes the generated documents with the default settings, whatever the environment says. A changed API
// surface with an unchanged version is an error, and then no file is written.
func renewDocs(dir string) error {
	cfg, err := config.Parse(nil)
	if err != nil {
		return err
	}
	prices, err := apiPrices(cfg.Payment)
	if err != nil {
		return err
	}
	node := reference.Node{Prices: prices, PublicURL: cfg.API.PublicURL}
	document, err := reference.OpenAPI(node)
	if err != nil {
		return err
	}
	schema, err := warehouse.SchemaPage()
	if err != nil {
		return err
	}
	path := filepath.Join(dir, "agent-v2.json")
	before, err := os.ReadFile(path) //nolint:gosec // the folder that the caller names
	if err == nil {
		if err := reference.CheckVersion(before, document); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	files := map[string][]byte{
		"agent-v2.json": document, "rules.md": rules.Rulebook(), "schema.md": schema,
	}
	// What callers get as files of their own stands beside the folder of the documents.
	if files[filepath.Join("..", api.PathRegistry)], err = reference.RegistryEntry(node); err != nil {
		return err
	}
	for _, language := range client.Languages() {
		if files[filepath.Join("..", language.Path())], err = reference.Client(node, language); err != nil {
			return err
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil { //nolint:gosec // a document
			return err
		}
	}
	return renewTables(dir)
}

// renewTables writes the generated tables of documents that are otherwise written by hand.
func renewTables(dir string) error {
	caching, err := reference.CachingTable()
	if err != nil {
		return err
	}
	plans, err := reference.PlanTable()
	if err != nil {
		return err
	}
	for _, table := range []struct{ document, name, text string }{
		{"settings.md", "settings", config.Markdown()},
		{"sources.md", "sources", sources.Markdown()},
		{"partners.md", "plans", string(plans)},
		{"production.md", "caching", string(caching)},
	} {
		path := filepath.Join(dir, table.document)
		before, err := os.ReadFile(path) //nolint:gosec // the folder that the caller names
		if err != nil {
			return err
		}
		after, err := config.UpdateTable(string(before), table.name, table.text)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := os.WriteFile(path, []byte(after), 0o644); err != nil { //nolint:gosec // a document
			return err
		}
	}
	return nil
}
