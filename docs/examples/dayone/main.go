// Command dayone keeps a copy of a DAO in SQLite: dayone URL DAO FILE [SECONDS [PARQUET]]. It asks for
// what has changed every half an hour, or after other SECONDS, and writes each revision into the folder
// PARQUET, too. Powers are decimals in texts.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"log"
	"os"
	"path"
	"strconv"
	"time"

	_ "modernc.org/sqlite"

	pnyx "pnyx/clients" // in a module of your own: the folder of pnyx.go
)

const schema = `
CREATE TABLE IF NOT EXISTS copy (one INTEGER PRIMARY KEY CHECK (one = 1), revision TEXT);
CREATE TABLE IF NOT EXISTS rows (kind TEXT, key TEXT, voter TEXT, data TEXT, PRIMARY KEY (kind, key, voter)) WITHOUT ROWID;
CREATE VIEW IF NOT EXISTS ballots AS SELECT key AS proposal_key, voter,
    json_extract(data, '$.ballot.choice.label') AS choice, json_extract(data, '$.ballot.votingPower') AS voting_power FROM rows WHERE kind = 'ballot';
`

func main() {
	ctx, args, exported := context.Background(), append(os.Args[1:], "1800"), ""
	client := pnyx.New(args[0], pnyx.WithToken(os.Getenv("PNYX_TOKEN")))
	pause, errPause := time.ParseDuration(args[3] + "s")
	db, err := sql.Open("sqlite", args[2]+"?_pragma=busy_timeout(5000)") // others may read it meanwhile
	if err = errors.Join(errPause, err); err == nil {
		_, err = db.ExecContext(ctx, schema)
	}
	if err != nil {
		log.Fatal(err)
	}
	for ; ; time.Sleep(pause) { //nolint:forbidigo // it has nothing else to do
		revision, err := refresh(ctx, client, args[1], db)
		if err == nil && len(os.Args) > 5 && revision != exported {
			exported, err = export(ctx, client, args[1], os.Args[5]) // of an older one, it is asked for again
		}
		log.Print(revision)
		if err != nil {
			log.Print(err) // the next round goes on from there
		}
	}
}

// refresh reads what the copy lacks, a transaction a part, and returns its revision.
func refresh(ctx context.Context, client *pnyx.Client, dao string, db *sql.DB) (revision string, err error) {
	err = db.QueryRowContext(ctx, "SELECT revision FROM copy").Scan(&revision)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", err
	}
	for part, err := range client.Mirror(ctx, dao, revision) {
		if err == nil {
			err = apply(ctx, db, part)
		}
		if err != nil {
			return revision, err
		}
		revision = part.Revision
	}
	return revision, nil
}

// apply commits a part. A row replaces what has its key, a proposal with all of its ballots, which follow.
func apply(ctx context.Context, db *sql.DB, part *pnyx.MirrorPart) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	write := func(statement string, values ...any) {
		if err == nil {
			_, err = tx.ExecContext(ctx, statement, values...)
		}
	}
	if part.Anew {
		write("DELETE FROM rows")
	}
	for _, row := range part.Rows {
		voter := ""
		if row.Ballot != nil {
			voter = row.Ballot.VoterIdentity
		}
		if row.Kind == "proposal" {
			write("DELETE FROM rows WHERE kind = 'ballot' AND key = ?", row.Key)
		}
		if row.Removed {
			write("DELETE FROM rows WHERE kind = ? AND key = ?", row.Kind, row.Key)
		} else if data, failed := json.Marshal(row); failed != nil {
			return failed
		} else {
			write("INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?)", row.Kind, row.Key, voter, string(data))
		}
	}
	write("INSERT OR REPLACE INTO copy VALUES (1, ?)", part.Revision)
	if err != nil {
		return err
	}
	return tx.Commit()
}

// export writes all of a DAO as Parquet, a file a part, into a folder named by the revision, and
// returns it. No name that a server sends leads out of the folder.
func export(ctx context.Context, client *pnyx.Client, dao, parquet string) (revision string, err error) {
	manifest, err := client.DAOExport(ctx, dao, nil)
	if err != nil {
		return "", err
	}
	err = os.MkdirAll(parquet, 0o750) //nolint:gosec // as the caller says
	folder, failed := os.OpenRoot(parquet)
	if err = errors.Join(err, failed); err != nil {
		return "", err
	}
	defer folder.Close()
	if err := folder.MkdirAll(manifest.Data.Revision, 0o750); err != nil {
		return "", err
	}
	for i, part := range manifest.Data.Parts {
		columns, err := client.DAOExportPart(ctx, dao, part.Digest, &pnyx.DAOExportPartParams{Format: pnyx.ExportFormatParquet})
		if err != nil {
			return "", err
		}
		if err := folder.WriteFile(path.Join(manifest.Data.Revision, strconv.Itoa(i+1)+".parquet"), columns, 0o600); err != nil {
			return "", err
		}
	}
	return manifest.Data.Revision, nil
}
