package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"pnyx/governance"
	"pnyx/warehouse/accounts"
	"pnyx/worker/webhook"
)

func testWebhookCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "test ID",
		Short: "Send a message of type pnyx.test now, and print how that went",
		Args:  cobra.ExactArgs(1),
		RunE: webhookTask(named(func(cmd *cobra.Command, admin webhookAdmin, e accounts.Webhook) error {
			attempt, err := admin.sender.Test(cmd.Context(), e, time.Now())
			if err != nil {
				return err
			}
			if err := accounts.NewAccounts(admin.warehouse).WriteWebhookAttempts(cmd.Context(), []accounts.WebhookAttempt{attempt}); err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), printable(attemptTable(attempt)))
			if err == nil && attempt.Error != "" {
				err = errors.New("the endpoint did not accept the test") // how that went is printed
			}
			return err
		})),
	}
}

func webhookLogCommand() *cobra.Command {
	var limit uint64
	cmd := &cobra.Command{
		Use:   "log ID",
		Short: "Show the last attempts of 30 days, newest first",
		Args:  cobra.ExactArgs(1),
		RunE: webhookTask(func(cmd *cobra.Command, args []string, admin webhookAdmin) error {
			attempts, err := accounts.NewAccounts(admin.warehouse).WebhookAttempts(cmd.Context(), args[0], limit)
			if err == nil && len(attempts) == 0 { // a removed endpoint keeps its log
				_, err = admin.find(cmd.Context(), args[0])
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), printable(attemptTable(attempts...)))
			return err
		}),
	}
	cmd.Flags().Uint64Var(&limit, "limit", 20, "number of attempts at most")
	return cmd
}

func attemptTable(attempts ...accounts.WebhookAttempt) string {
	t := newTable("at", "message", "type", "attempt", "status", "ms", "result")
	for _, a := range attempts {
		t.AppendRow(table.Row{
			shownTime(a.At), a.MessageID, a.MessageType, a.Attempt, a.Status, a.DurationMS, cmp.Or(a.Error, "accepted"),
		})
	}
	return t.Render()
}

func replayWebhookCommand() *cobra.Command {
	var since, id string
	cmd := &cobra.Command{
		Use:   "replay ID",
		Short: "Send messages again: one, or all since a time",
		Long: `Send messages of the endpoint's types and DAOs again, whatever became of them: one by
its id, or all that happened, or were detected, since a time. Nothing older than 30 days is
sent.`,
		Args: cobra.ExactArgs(1),
		RunE: webhookTask(func(cmd *cobra.Command, args []string, admin webhookAdmin) error {
			var from time.Time
			if id == "" {
				stamp, err := governance.ParseTimestamp(since)
				if err != nil {
					return fmt.Errorf("--since: %w", err)
				}
				from = stamp.Time()
			}
			e, err := admin.find(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if !e.Active() {
				return fmt.Errorf("webhook %s is %s; enable it first", e.ID, webhookState(e))
			}
			queued, err := webhook.Replay(cmd.Context(), admin.warehouse, e, from, id)
			if err != nil {
				return err
			}
			if queued == 0 {
				return errors.New("no event or signal of the last 30 days is meant")
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "queued %d messages for %s\n", queued, e.ID)
			return err
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&since, "since", "", "all since this RFC 3339 time or date")
	flags.StringVar(&id, "id", "", "the event or signal with this id")
	cmd.MarkFlagsOneRequired("since", "id")
	cmd.MarkFlagsMutuallyExclusive("since", "id")
	return cmd
}

func rotateWebhookCommand() *cobra.Command {
	var overlap time.Duration
	cmd := &cobra.Command{
		Use:   "rotate ID",
		Short: "Replace the secret, and print the new one once",
		Long: `Replace the secret, and print the new one once. For the overlap every message has two
signatures, one by each secret.`,
		Args: cobra.ExactArgs(1),
		RunE: webhookTask(named(func(cmd *cobra.Command, admin webhookAdmin, e accounts.Webhook) error {
			e.PreviousSecret, e.PreviousUntil = e.Secret, time.Now().Add(overlap)
			e.Secret = webhook.NewSecret()
			if err := accounts.NewAccounts(admin.warehouse).PutWebhook(cmd.Context(), e, false); err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "webhook %s; the secret before is valid until %s UTC; the new one is shown this once:\n",
				e.ID, shownTime(e.PreviousUntil))
			_, err := fmt.Fprintln(cmd.OutOrStdout(), e.Secret)
			return err
		})),
	}
	overlapFlag(cmd, &overlap, "how long the secret before still signs too")
	return cmd
}
