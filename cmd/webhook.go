package cmd

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"pnyx/config"
	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/accounts"
	"pnyx/warehouse/records"
	"pnyx/worker/webhook"
)

func webhookCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "webhook",
		Short: "Send events and signals to partners' servers",
		Long: `Send events and signals to partners' servers as they appear, signed as in Standard
Webhooks. An endpoint belongs to a partner token and gets what appears after it was added.
The leading worker delivers, and notices a change within 5 seconds. See docs/partners.md.`,
	}
	cmd.AddCommand(
		addWebhookCommand(), listWebhooksCommand(), testWebhookCommand(), webhookLogCommand(),
		replayWebhookCommand(), rotateWebhookCommand(), enableWebhookCommand(), removeWebhookCommand(),
	)
	return cmd
}

// webhookAdmin reads and changes webhooks.
type webhookAdmin struct {
	warehouse *warehouse.Warehouse
	// sender checks addresses, and sends tests.
	sender *webhook.Sender
	// v2LaunchedAt is as in webhook.Options.
	v2LaunchedAt time.Time
}

func webhookTask(run func(*cobra.Command, []string, webhookAdmin) error) func(*cobra.Command, []string) error {
	return warehouseTask(reachExisting, func(cmd *cobra.Command, args []string, s *session, opened *warehouse.Warehouse) error {
		sender := webhook.NewSender(s.cfg.Webhook.Receivers == config.PrivateReceivers)
		return run(cmd, args, webhookAdmin{opened, sender, s.cfg.Access.V2Launch.Time()})
	})
}

func (a webhookAdmin) find(ctx context.Context, id string) (accounts.Webhook, error) {
	endpoints, err := accounts.NewAccounts(a.warehouse).Webhooks(ctx)
	return only(endpoints, err, func(e accounts.Webhook) bool { return e.ID == id },
		fmt.Errorf("no webhook has the id %q; pnyx webhook list shows them", id))
}

func addWebhookCommand() *cobra.Command {
	var e accounts.Webhook
	var file string
	cmd := &cobra.Command{
		Use:   "add",
		Short: "Add an endpoint, and print its secret once",
		Long: `Add an endpoint, and print its secret once. It gets what appears in the lists of
events and signals from now on.

With --file it adds many: a JSON object a line with url, types, optional daos, and the id of a
token as token unless --token names one for all lines without. All are
checked before the first is added, and each is printed as a JSON object with id and secret.`,
		Example: `  pnyx webhook add --token 4f2c81d09ab3e675 --url https://acme.example.com/pnyx --types 'signal.*,event.voting_ended'
  pnyx webhook add --file partners.ndjson > secrets.ndjson
  pnyx webhook add --token 4f2c81d09ab3e675 --file acme.ndjson > secrets.ndjson`,
		Args: cobra.NoArgs,
		RunE: webhookTask(func(cmd *cobra.Command, _ []string, admin webhookAdmin) error {
			if file != "" {
				return admin.addFile(cmd, file, e.TokenID)
			}
			if err := admin.add(cmd.Context(), &e); err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "webhook %s to %s; its secret is shown this once:\n", e.ID, printable(e.URL))
			_, err := fmt.Fprintln(cmd.OutOrStdout(), e.Secret)
			return err
		}),
	}
	flags := cmd.Flags()
	for _, name := range []string{"token", "token-id"} {
		flags.StringVar(&e.TokenID, name, "", "id of the partner token that it belongs to; without the token, it gets nothing")
	}
	_ = flags.MarkHidden("token-id") // its earlier name; the flag exists
	flags.StringVar(&file, "file", "", "file with an endpoint a line, - for the standard input; instead of --url, --types and --dao")
	flags.StringVar(&e.URL, "url", "", "address that messages are posted to")
	flags.StringSliceVar(&e.Types, "types", nil, "types of messages: event.voting_ended, signal.*, event.* or *, separated by commas")
	flags.StringSliceVar(&e.DAOIDs, "dao", nil, "only messages about these DAOs, separated by commas")
	cmd.MarkFlagsOneRequired("file", "token", "token-id")
	cmd.MarkFlagsOneRequired("file", "url")
	cmd.MarkFlagsOneRequired("file", "types")
	for _, name := range []string{"url", "types", "dao"} {
		cmd.MarkFlagsMutuallyExclusive("file", name)
	}
	cmd.MarkFlagsMutuallyExclusive("token", "token-id")
	return cmd
}

// add checks and stores an endpoint. It fills in what the flags do not say.
func (a webhookAdmin) add(ctx context.Context, e *accounts.Webhook) error {
	if err := a.check(ctx, *e); err != nil {
		return err
	}
	endpoints, err := accounts.NewAccounts(a.warehouse).Webhooks(ctx)
	if err != nil {
		return err
	}
	if len(endpoints) >= webhook.MaxEndpoints {
		return fmt.Errorf("there are %d webhooks, which is the maximum: remove one", len(endpoints))
	}
	return a.put(ctx, e)
}

// put stores a checked endpoint, and fills in what an operator does not choose.
func (a webhookAdmin) put(ctx context.Context, e *accounts.Webhook) error {
	e.ID, e.Secret, e.CreatedAt = webhook.NewID(), webhook.NewSecret(), time.Now()
	return a.enable(ctx, *e)
}

// check returns an error if an endpoint cannot be added.
func (a webhookAdmin) check(ctx context.Context, e accounts.Webhook) error {
	if err := a.sender.CheckURL(e.URL); err != nil {
		return fmt.Errorf("--url: %w", err)
	}
	if err := webhook.CheckTypes(e.Types); err != nil {
		return fmt.Errorf("--types: %w", err)
	}
	if err := a.checkDAOs(ctx, e.DAOIDs); err != nil {
		return err
	}
	token, err := tokenAdmin{warehouse: a.warehouse}.find(ctx, e.TokenID)
	if err == nil {
		err = webhook.CheckToken(token, a.v2LaunchedAt, time.Now())
	}
	if err != nil {
		return fmt.Errorf("--token: %w", err)
	}
	return nil
}

func (a webhookAdmin) checkDAOs(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	catalog, err := records.CatalogOwners(ctx, a.warehouse)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if _, exists := catalog.DAOs[id]; !exists {
			return fmt.Errorf("--dao: no DAO has the id %q", id)
		}
	}
	return nil
}

// enable turns an endpoint on. What is in the feed by then is passed over.
func (a webhookAdmin) enable(ctx context.Context, e accounts.Webhook) error {
	if err := webhook.PassOver(ctx, a.warehouse, e); err != nil {
		return err
	}
	e.EnabledAt = time.Now()
	if !e.DisabledAt.Before(e.EnabledAt) { // by another clock
		e.EnabledAt = e.DisabledAt.Add(time.Millisecond)
	}
	return accounts.NewAccounts(a.warehouse).PutWebhook(ctx, e, false)
}

func listWebhooksCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the endpoints, without their secrets",
		Args:  cobra.NoArgs,
		RunE: webhookTask(func(cmd *cobra.Command, _ []string, admin webhookAdmin) error {
			endpoints, err := accounts.NewAccounts(admin.warehouse).Webhooks(cmd.Context())
			if err != nil {
				return err
			}
			queues, err := accounts.NewAccounts(admin.warehouse).WebhookQueues(cmd.Context())
			if err != nil {
				return err
			}
			outcomes, err := accounts.NewAccounts(admin.warehouse).WebhookOutcomes(cmd.Context())
			if err != nil {
				return err
			}
			t := newTable("id", "token", "url", "types", "daos", "waiting", "oldest", "last success", "last error", "state")
			for _, e := range endpoints {
				queue, outcome := queues[e.ID], outcomes[e.ID]
				t.AppendRow(table.Row{
					e.ID, e.TokenID, e.URL, strings.Join(e.Types, " "), cmp.Or(strings.Join(e.DAOIDs, " "), "all"),
					queue.Messages, shownSince(queue.OldestAt), shownSince(outcome.SucceededAt), outcome.LastError, webhookState(e),
				})
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), printable(t.Render()))
			return err
		}),
	}
}

// shownSince returns a time for a table; empty for the Unix epoch and before.
func shownSince(at time.Time) string {
	if at.Unix() <= 0 {
		return ""
	}
	return shownTime(at)
}

func webhookState(e accounts.Webhook) string {
	switch {
	case !e.Active():
		return "off since " + shownTime(e.DisabledAt) + ": " + e.Reason
	case e.Failing():
		return "failing since " + shownTime(e.FailingSince)
	}
	return "on"
}

func enableWebhookCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "enable ID",
		Short: "Turn an endpoint on that was turned off; replay sends what it missed",
		Args:  cobra.ExactArgs(1),
		RunE: webhookTask(named(func(cmd *cobra.Command, admin webhookAdmin, e accounts.Webhook) error {
			if e.Active() {
				return fmt.Errorf("webhook %s is on", e.ID)
			}
			if err := admin.enable(cmd.Context(), e); err != nil {
				return err
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "enabled %s; to send what it missed: pnyx webhook replay %s --since %s\n",
				e.ID, e.ID, governance.TimestampOf(e.DisabledAt))
			return err
		})),
	}
}

func removeWebhookCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "remove ID",
		Short: "Remove an endpoint for good",
		Args:  cobra.ExactArgs(1),
		RunE: webhookTask(named(func(cmd *cobra.Command, admin webhookAdmin, e accounts.Webhook) error {
			if err := accounts.NewAccounts(admin.warehouse).PutWebhook(cmd.Context(), e, true); err != nil {
				return err
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "removed %s (%s)\n", e.ID, printable(e.URL))
			return err
		})),
	}
}
