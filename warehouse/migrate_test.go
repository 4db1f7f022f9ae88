package warehouse

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"pnyx/test/check"
)

func TestEveryMigrationMayRunTwice(t *testing.T) {
	t.Parallel()
	statements := check.Must(migrations(migrationFiles))(t)
	if len(statements) < 10 {
		t.Fatalf("got %d statements, want them all", len(statements))
	}
	// Of equal rows one stays, and rows that were withdrawn are not found again.
	idempotent := regexp.MustCompile(`IF NOT EXISTS|IF EXISTS|^CREATE OR REPLACE VIEW|MODIFY SETTING|^INSERT .* WHERE \(SELECT count\(\) FROM \w+\) = 0$|` +
		`(?s:^INSERT .* AND NOT withdrawn\s*\)$)`)
	for _, s := range statements {
		if !idempotent.MatchString(s.text) {
			t.Errorf("%s: %.60q… is not idempotent", s.file, s.text)
		}
		if s.table != "" && s.table != "schema_migrations" && s.shardBy == "" {
			t.Errorf("%s: table %s has no sharding key", s.file, s.table)
		}
	}
}

func TestMigrationsAreNumberedWithoutGaps(t *testing.T) {
	t.Parallel()
	names := check.Must(fs.Glob(migrationFiles, "migrations/*.sql"))(t)
	for i, name := range names {
		if want := fmt.Sprintf("migrations/%04d_", i); !strings.HasPrefix(name, want) {
			t.Errorf("got %s, want it to begin with %s", name, want)
		}
	}
}

func TestRetryWaitsForSchemaOfAnotherUser(t *testing.T) {
	t.Parallel()
	denied := &clickhouse.Exception{Code: accessDenied, Message: "not enough privileges"}
	tries := 0
	err := Retry(t.Context(), time.Minute, slog.New(slog.DiscardHandler), func() error {
		if tries++; tries < 3 {
			return classifyError(explainDenied(denied))
		}
		return nil
	})
	if err != nil || tries != 3 {
		t.Errorf("got %v after %d tries, want success at the third", err, tries)
	}
	err = Retry(t.Context(), 0, slog.New(slog.DiscardHandler), func() error { return classifyError(explainDenied(denied)) })
	check.WantPart(t, "run pnyx migrate", fmt.Sprint(err), "without waiting")
}

func TestABusyServerIsAskedAgain(t *testing.T) {
	t.Parallel()
	const tooManyQueries = 202
	tries := 0
	err := Retry(t.Context(), time.Minute, slog.New(slog.DiscardHandler), func() error {
		if tries++; tries == 1 {
			return classifyError(&clickhouse.Exception{Code: tooManyQueries})
		}
		return nil
	})
	if err != nil || tries != 2 {
		t.Errorf("got %v after %d tries, want success at the second", err, tries)
	}
}

func TestAFullDiskIsNamed(t *testing.T) {
	t.Parallel()
	err := classifyError(&clickhouse.Exception{Code: fullCode, Message: "Cannot reserve 1.00 MiB, not enough space"})
	if errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "free space") {
		t.Errorf("got %v, want what to do, and no other attempt", err)
	}
}

func TestEveryTableEngineIsGrantedInTheDocumentation(t *testing.T) {
	t.Parallel()
	grants := check.Must(os.ReadFile("../observe/parts.sql"))(t)
	statements := check.Must(migrations(migrationFiles))(t)
	engines := []string{"Distributed"} // of a cluster
	for _, s := range statements {
		if _, after, made := strings.Cut(s.text, "ENGINE = "); made {
			engines = append(engines, after[:strings.IndexAny(after, "( \n")])
		}
	}
	slices.Sort(engines)
	for _, engine := range slices.Compact(engines) {
		if !strings.Contains(string(grants), "TABLE ENGINE ON "+engine) {
			t.Errorf("observe/parts.sql does not grant TABLE ENGINE ON %s to the owner of the schema", engine)
		}
	}
}

func TestVersionsGrowWhenTheClockIsSetBack(t *testing.T) {
	t.Parallel()

	var c versionClock
	first := c.Next()
	if second := c.Next(); second <= first {
		t.Errorf("got %d after %d, want a later one", second, first)
	}
	ahead := uint64(time.Now().Add(time.Hour).UnixMicro())
	c.Seen(ahead)
	c.Seen(first)
	check.Want(t, ahead+1, c.Next(), "after", ahead)
}
