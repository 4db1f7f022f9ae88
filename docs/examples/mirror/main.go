// Command mirror keeps a folder of all proposals, DAOs and topics up to date: mirror URL FOLDER.
// What is already there is read again where it has changed. It logs each time it is up to date.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"net/url"
	"os"
	"path/filepath"
	"time"

	pnyx "pnyx/clients" // in a module of your own: the folder of pnyx.go
)

// mirror is a folder with a file for each key, and the cursor up to which they are up to date.
type mirror struct {
	client *pnyx.Client
	// folder is where everything is written: no name that a server sends leads out of it.
	folder *os.Root
}

func main() {
	if err := os.MkdirAll(os.Args[2], 0o750); err != nil { //nolint:gosec // the caller's own choice
		log.Fatal(err)
	}
	folder, err := os.OpenRoot(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	m := mirror{pnyx.New(os.Args[1], pnyx.WithToken(os.Getenv("PNYX_TOKEN"))), folder}
	for {
		err := m.follow(context.Background())
		if failed, is := errors.AsType[*pnyx.Error](err); is && failed.Code == pnyx.ErrorCodeCursorExpired {
			err = m.folder.Remove("cursor") // changes may be missing: begin again
		}
		log.Print(err)
		time.Sleep(time.Second) //nolint:forbidigo // it has nothing else to do
	}
}

// follow reads what changes, until there is an error.
func (m mirror) follow(ctx context.Context) error {
	params := pnyx.ChangesParams{Kind: []pnyx.ChangeKind{"proposal", "dao", "topic"}, Limit: 500}
	cursor, err := m.folder.ReadFile("cursor")
	if params.Cursor = string(cursor); errors.Is(err, fs.ErrNotExist) {
		params.From, err = m.begin(ctx, params)
	}
	for err == nil {
		var page *pnyx.Page[pnyx.Change]
		if page, err = m.client.ChangesPage(ctx, &params); err != nil {
			return err
		}
		for _, change := range page.Data {
			if err := m.read(ctx, change.Kind, change.Key, change.ChangedAt); err != nil {
				return err
			}
		}
		params.Cursor, params.Wait = *page.Meta.Page.NextCursor, 25
		if err = m.write("cursor", params.Cursor); len(page.Data) == 0 {
			log.Print("up to date")
		}
	}
	return err
}

// begin reads everything, spam too, which changes tell, and removes what is gone. It returns the time before: what has
// changed since may be missing.
func (m mirror) begin(ctx context.Context, params pnyx.ChangesParams) (from string, err error) {
	page, err := m.client.ChangesPage(ctx, &params)
	if err != nil {
		return "", err
	}
	for _, kind := range params.Kind {
		if err := m.folder.RemoveAll(string(kind)); err != nil {
			return "", err
		}
	}
	err = each(func(cursor string) (*pnyx.Page[pnyx.DAOListItem], error) {
		return m.client.DAOsPage(ctx, &pnyx.DAOsParams{Cursor: cursor, Flagged: new(true)})
	}, func(row pnyx.DAOListItem) error { return m.read(ctx, "dao", row.DAOID, "") })
	if err != nil {
		return "", err
	}
	err = each(func(cursor string) (*pnyx.Page[pnyx.ProposalListItem], error) {
		return m.client.ProposalsPage(ctx, &pnyx.ProposalsParams{Cursor: cursor, Flagged: new(true)})
	}, func(row pnyx.ProposalListItem) error { return m.read(ctx, "proposal", row.ProposalKey, "") })
	if err != nil {
		return "", err
	}
	err = each(func(cursor string) (*pnyx.Page[pnyx.ForumTopic], error) {
		return m.client.ForumTopicsPage(ctx, &pnyx.ForumTopicsParams{Cursor: cursor})
	}, func(row pnyx.ForumTopic) error { return m.read(ctx, "topic", row.TopicKey, "") })
	return page.Meta.GeneratedAt, err
}

// each does something with every row of a list. It asks again for a page that is stale: what
// that lacks may have come before the list of changes began.
func each[Row any](read func(cursor string) (*pnyx.Page[Row], error), do func(Row) error) error {
	for cursor := ""; ; {
		page, err := read(cursor)
		if err != nil {
			return err
		}
		if page.Meta.Readiness.Status == pnyx.ReadinessStale {
			time.Sleep(time.Second) //nolint:forbidigo // until it is made
			continue
		}
		for _, row := range page.Data {
			if err := do(row); err != nil {
				return err
			}
		}
		if page.Meta.Page.NextCursor == nil {
			return nil
		}
		cursor = *page.Meta.Page.NextCursor
	}
}

// read stores what a key names, not older than a time, or removes it.
func (m mirror) read(ctx context.Context, kind, key, since string) error {
	for tries := 0; ; tries++ {
		data, asOf, err := m.ask(ctx, kind, key)
		path := file(kind, key)
		failed, is := errors.AsType[*pnyx.Error](err)
		switch {
		case is && failed.Status == 404:
			return m.folder.RemoveAll(path)
		case err != nil:
			return err
		case asOf >= since || tries == 3: // a cache may be a second behind
			return m.write(path, data)
		}
		time.Sleep(time.Second) //nolint:forbidigo // until the cache has expired
	}
}

// file is where what a key names is stored. The id of a DAO may be longer than the name of a file.
func file(kind, key string) string {
	name := url.PathEscape(key)
	if len(name) > 250 {
		name = fmt.Sprintf("%x", sha256.Sum256([]byte(key)))
	}
	return filepath.Join(kind, name+".json")
}

// ask returns what a key names, and up to when that is known.
func (m mirror) ask(ctx context.Context, kind, key string) (data any, asOf string, err error) {
	switch kind {
	case "dao":
		return unwrap(m.client.DAO(ctx, key))
	case "topic":
		return unwrap(m.client.ForumTopic(ctx, key))
	}
	proposal, asOf, err := unwrap(m.client.Proposal(ctx, key))
	if err != nil {
		return nil, "", err
	}
	votes, of, err := unwrap(m.client.VoteSummary(ctx, key))
	return map[string]any{"proposal": proposal, "votes": votes}, min(asOf, of), err
}

func unwrap[Data any](answer *pnyx.Answer[Data], err error) (data any, asOf string, failed error) {
	if err != nil {
		return nil, "", err
	}
	return answer.Data, answer.Meta.DataAsOf, nil
}

// write replaces a file, by a text or a value as JSON: it is the old one or the new one when
// the program is killed.
func (m mirror) write(path string, data any) error {
	text, err := json.Marshal(data)
	if plain, is := data.(string); is {
		text = []byte(plain)
	}
	return errors.Join(err, m.folder.MkdirAll(filepath.Dir(path), 0o750),
		m.folder.WriteFile("unfinished", text, 0o600), m.folder.Rename("unfinished", path))
}
