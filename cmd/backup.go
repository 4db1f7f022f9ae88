package cmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"pnyx/warehouse"
	"pnyx/warehouse/backup"
	"pnyx/warehouse/records"
)

const backupTimeout = 6 * time.Hour

func backupCommand() *cobra.Command {
	var options backup.Options
	cmd := &cobra.Command{
		Use:   "backup DESTINATION",
		Short: "Back up the warehouse to a folder or to S3",
		Long: `Back up the warehouse to a folder or to s3://BUCKET/PREFIX, with the key in
AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. The backup uses a running instance, which
continues to serve and import, or opens the warehouse itself.

A backup holds what differs from the last full one; a full one is made where none is
younger than --full-age. A backup that is broken off is never restored or built upon.
It contains hashes of tokens, payments and the key of cursors: keep it private. With
PNYX_BACKUP_KEY it is signed.`,
		Example: `  pnyx backup /var/backups/pnyx --keep 14
  pnyx backup s3://my-bucket/pnyx`,
		Args: cobra.ExactArgs(1),
	}
	flags := cmd.Flags()
	flags.BoolVar(&options.Full, "full", false, "make a full backup")
	flags.DurationVar(&options.FullAge, "full-age", 7*24*time.Hour, "make a full backup when the last one is older")
	flags.IntVar(&options.Keep, "keep", 0, "backups to keep, besides those that they need; 0 keeps all")
	timeout := cmd.PersistentFlags().Duration("timeout", backupTimeout, "end after this time")
	cmd.RunE = backupTask(timeout, func(ctx context.Context, cmd *cobra.Command, args []string, s backupSession) error {
		if options.Keep < 0 {
			return fmt.Errorf("--keep %d: want 0 or more", options.Keep)
		}
		return s.create(ctx, cmd, args[0], options)
	})
	cmd.AddCommand(listBackupsCommand(timeout), verifyBackupCommand(timeout))
	return cmd
}

func listBackupsCommand(timeout *time.Duration) *cobra.Command {
	return &cobra.Command{
		Use:   "list DESTINATION",
		Short: "List the backups of a destination, oldest first",
		Args:  cobra.ExactArgs(1),
		RunE: backupTask(timeout, func(ctx context.Context, cmd *cobra.Command, args []string, s backupSession) error {
			entries, err := backup.List(ctx, s.options(backup.Options{}, args[0]))
			if err != nil {
				return err
			}
			if len(entries) == 0 {
				return fmt.Errorf("%w in %s", backup.ErrNoBackup, args[0])
			}
			t := newTable("name", "kind", "base", "rows", "size", "schema", "version", "took")
			for _, entry := range entries {
				if m := entry.Manifest; m != nil {
					t.AppendRow(table.Row{
						m.Name, m.Kind(), m.Base, m.Rows(), mebibytes(m.Bytes), m.Schema, m.Version,
						m.FinishedAt.Sub(m.StartedAt).Round(time.Millisecond),
					})
					continue
				}
				kind := "incomplete"
				if entry.Problem != nil {
					kind = "unusable"
				}
				t.AppendRow(table.Row{entry.Name, kind, "", "", "", "", "", ""})
			}
			out := &controlEscaper{out: cmd.OutOrStdout()} // a manifest may be anybody's
			fmt.Fprintln(out, t.Render())
			for _, entry := range entries {
				if entry.Problem != nil {
					fmt.Fprintln(out, entry.Problem)
				}
			}
			return nil
		}),
	}
}

func verifyBackupCommand(timeout *time.Duration) *cobra.Command {
	var unsigned bool
	cmd := &cobra.Command{
		Use:   "verify DESTINATION [NAME]",
		Short: "Restore a backup beside the warehouse and compare every table",
		Long: `Restore a backup, the newest unless one is named, to a temporary database beside the
warehouse, and compare the rows and the checksum of every table with those that were
backed up. The warehouse itself is not touched, and may be running or empty.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: backupTask(timeout, func(ctx context.Context, cmd *cobra.Command, args []string, s backupSession) error {
			s.unsigned = unsigned
			archive, err := s.openArchive(ctx, reachEngine)
			if err != nil {
				return err
			}
			began := time.Now()
			o := s.options(backup.Options{Archive: archive}, args[0])
			m, err := show(&o, func() (backup.Manifest, error) { return backup.Verify(ctx, o, backupName(args)) })
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "backup %s is good: %d rows in %d tables restored and compared in %s\n",
				m.Name, m.Rows(), m.Tables(), time.Since(began).Round(time.Millisecond))
			return nil
		}),
	}
	addUnsigned(cmd, &unsigned)
	return cmd
}

func addUnsigned(cmd *cobra.Command, unsigned *bool) {
	cmd.Flags().BoolVar(unsigned, "unsigned", false, "take a backup that is not signed with PNYX_BACKUP_KEY, as from before there was a key")
}

func restoreCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "restore DESTINATION [NAME]",
		Short: "Restore a backup into an empty warehouse",
		Long: `Restore a backup, the newest unless one is named, into an empty warehouse. Stop the
instance or the workers before. Every table is compared with what was backed up, and with
what migrations make, before the warehouse gets it; a backup of an earlier version is
migrated. Then start the instance, which publishes everything again.`,
		Args: cobra.RangeArgs(1, 2),
	}
	var unsigned bool
	addUnsigned(cmd, &unsigned)
	timeout := cmd.Flags().Duration("timeout", backupTimeout, "end after this time")
	cmd.RunE = backupTask(timeout, func(ctx context.Context, cmd *cobra.Command, args []string, s backupSession) error {
		s.unsigned = unsigned
		return s.restore(ctx, cmd, args)
	})
	return cmd
}

func backupName(args []string) string {
	if len(args) > 1 {
		return args[1]
	}
	return ""
}

type backupSession struct {
	*session
	// timeout bounds the command, and each of its statements.
	timeout time.Duration
	// unsigned says that signatures are not asked for.
	unsigned bool
}

func backupTask(
	timeout *time.Duration, run func(ctx context.Context, cmd *cobra.Command, args []string, s backupSession) error,
) func(*cobra.Command, []string) error {
	return task(func(cmd *cobra.Command, args []string, s *session) error {
		if *timeout <= 0 {
			return fmt.Errorf("--timeout %s: want a duration above 0", *timeout)
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), *timeout)
		defer cancel()
		return run(ctx, cmd, args, backupSession{session: s, timeout: *timeout})
	})
}

func (s backupSession) options(o backup.Options, destination string) backup.Options {
	o.Destination, o.Version, o.Server = destination, thisBuild().Version, s.cfg.Warehouse.URL != ""
	if !s.unsigned {
		o.Keys = s.cfg.Backup.Keys.All()
	}
	o.S3 = backup.S3{
		KeyID: s.cfg.Backup.KeyID, Secret: string(s.cfg.Backup.Secret),
		Region: s.cfg.Backup.Region, Endpoint: s.cfg.Backup.Endpoint,
	}
	if !o.Server {
		o.Staging = filepath.Join(s.cfg.Warehouse.Data, "backup")
	}
	return o
}

func (s backupSession) openArchive(ctx context.Context, reached reach) (*warehouse.Archive, error) {
	options, err := s.reachWarehouse(ctx, reached)
	if err != nil {
		return nil, err
	}
	options.QueryTimeout = s.timeout
	archive, err := warehouse.OpenArchive(ctx, options)
	if err != nil {
		return nil, err
	}
	s.undo.add(archive.Close)
	return archive, nil
}

func (s backupSession) create(ctx context.Context, cmd *cobra.Command, destination string, o backup.Options) error {
	// Opening it migrates the schema, so that the backup can be recorded.
	opened, err := s.openWarehouse(ctx, reachExisting)
	if err != nil {
		return err
	}
	if o.Archive, err = s.openArchive(ctx, reachExisting); err != nil {
		return err
	}
	o = s.options(o, destination)
	m, err := show(&o, func() (backup.Manifest, error) { return backup.Create(ctx, o) })
	if m.Name == "" {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "backup %s: %s, %d rows in %d tables, %s in %s\n", m.Name, m.Kind(), m.Rows(), m.Tables(),
		mebibytes(m.Bytes), m.FinishedAt.Sub(m.StartedAt).Round(time.Millisecond))
	return errors.Join(err, records.RecordBackup(ctx, opened, records.BackupMade, m.Name, m.Rows(), uint64(m.Bytes))) //nolint:gosec // a size
}

func (s backupSession) restore(ctx context.Context, cmd *cobra.Command, args []string) error {
	began := time.Now()
	// An engine of its own: a running instance would work on while its tables are replaced.
	archive, err := s.openArchive(ctx, startEngine)
	if err != nil {
		return err
	}
	o := s.options(backup.Options{Archive: archive}, args[0])
	m, err := show(&o, func() (backup.Manifest, error) { return backup.Restore(ctx, o, backupName(args)) })
	if err != nil {
		return err
	}
	opened, err := s.openWarehouse(ctx, reachEngine)
	if err != nil {
		return err
	}
	if err := opened.MigrateRestored(ctx); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "restored %s: %d rows in %d tables, as of %s, in %s\n", m.Name, m.Rows(), m.Tables(),
		m.StartedAt.Format(time.RFC3339), time.Since(began).Round(time.Millisecond))
	return nil
}

func show(o *backup.Options, run func() (backup.Manifest, error)) (backup.Manifest, error) {
	var line atomic.Value
	line.Store("")
	o.Progress = func(phase string, done, total uint64) {
		text := phase
		if total > 0 {
			text = fmt.Sprintf("%3d %%  %s of %s  %s", min(100*done/total, 100),
				mebibytes(int64(done)), mebibytes(int64(total)), phase) //nolint:gosec // sizes
		}
		line.Store(text)
	}
	stop := showProgress(func() string { return line.Load().(string) }) //nolint:forcetypeassert,errcheck // stored above
	defer stop()
	return run()
}

func mebibytes(size int64) string { return fmt.Sprintf("%.1f MiB", float64(size)/(1<<20)) }
