// Command dayone keeps a copy of a DAO in a folder: dayone URL DAO FOLDER [SECONDS [PARQUET]]. It
// asks for what has changed every half an hour, or after other SECONDS, and writes each revision into
// the folder PARQUET, too. Powers are decimals in texts.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log"
	"net/url"
	"os"
	"path"
	"strconv"
	"time"

	pnyx "pnyx/clients" // in a module of your own: the folder of pnyx.go
)

func main() {
	args, exported := append(os.Args[1:], "1800"), ""
	client := pnyx.New(args[0], pnyx.WithToken(os.Getenv("PNYX_TOKEN")))
	pause, errPause := time.ParseDuration(args[3] + "s")
	folder, err := open(args[2])
	if err = errors.Join(errPause, err); err != nil {
		log.Fatal(err)
	}
	for ; ; time.Sleep(pause) { //nolint:forbidigo // it has nothing else to do
		revision, err := refresh(client, args[1], folder)
		if err == nil && len(os.Args) > 5 && revision != exported {
			if err = export(client, args[1], os.Args[5]); err == nil {
				exported = revision
			}
		}
		log.Print(revision, " ", err) // after an error the next round goes on from there
	}
}

// open makes a folder. No name that a server sends leads out of it.
func open(name string) (*os.Root, error) {
	err := os.MkdirAll(name, 0o750) //nolint:gosec // as the caller says
	folder, failed := os.OpenRoot(name)
	return folder, errors.Join(err, failed)
}

// export writes all of a DAO as Parquet, a file a part, into a folder named by the revision.
func export(client *pnyx.Client, dao, parquet string) error {
	folder, err := open(parquet)
	if err != nil {
		return err
	}
	manifest, err := client.DAOExport(context.Background(), dao, nil)
	if err != nil {
		return err
	}
	for i, part := range manifest.Data.Parts {
		columns, err := client.DAOExportPart(context.Background(), dao, part.Digest, &pnyx.DAOExportPartParams{Format: pnyx.ExportFormatParquet})
		if err != nil {
			return err
		}
		if err := write(folder, path.Join(manifest.Data.Revision, strconv.Itoa(i+1)+".parquet"), columns); err != nil {
			return err
		}
	}
	return nil
}

// refresh reads what the copy lacks, and returns its revision. It may apply rows a second time.
func refresh(client *pnyx.Client, dao string, folder *os.Root) (revision string, err error) {
	held, err := folder.ReadFile("revision")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	for part, err := range client.Mirror(context.Background(), dao, string(held)) {
		if err == nil && part.Anew {
			for _, name := range []string{"revision", "proposal", "ballot", "topic", "event"} {
				err = errors.Join(err, folder.RemoveAll(name))
			}
		}
		if err != nil {
			return revision, err
		}
		for _, row := range part.Rows {
			if err := apply(folder, row); err != nil {
				return revision, err
			}
		}
		if err := write(folder, "revision", []byte(part.Revision)); err != nil {
			return revision, err
		}
		revision = part.Revision
	}
	return revision, nil
}

// apply replaces what has the key of a row; a proposal with all of its ballots, which follow.
func apply(folder *os.Root, row pnyx.DAOExportRow) (err error) {
	file := path.Join(row.Kind, url.PathEscape(row.Key))
	if row.Kind == "proposal" {
		err = folder.RemoveAll(path.Join("ballot", url.PathEscape(row.Key)))
	} else if row.Ballot != nil {
		file = path.Join(file, url.PathEscape(row.Ballot.VoterIdentity))
	}
	if row.Removed {
		return errors.Join(err, folder.RemoveAll(file))
	}
	text, failed := json.Marshal(row)
	return errors.Join(err, failed, write(folder, file, text))
}

// write replaces a file: it is the old one or the new one when the program is killed.
func write(folder *os.Root, file string, text []byte) error {
	return errors.Join(folder.MkdirAll(path.Dir(file), 0o750),
		folder.WriteFile("unfinished", text, 0o600), folder.Rename("unfinished", file))
}
