package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"pnyx/warehouse/engine"
)

// baseSize is imported. The engine makes larger warehouses from copies of it under other names: importing all of
// them would take an hour on two cores.
func baseSize() Size {
	return Size{DAOs: 100, Proposals: 2500, Ballots: 1_000_000, Largest: 180_000}
}

// grown returns a warehouse with a number of million ballots, made from the previous one.
func grown(ctx context.Context, e *Environment, before *Dataset, millions int) *Dataset {
	dir := filepath.Join(e.Dir, fmt.Sprintf("%dM", millions))
	size := baseSize()
	size.Ballots, size.Proposals, size.DAOs = millions*size.Ballots, millions*size.Proposals, millions*size.DAOs
	data := &Dataset{Warehouse: dir, Size: size}
	once(dir, size, func() {
		checkSpace(e.Dir, millions)
		if before == nil {
			before = e.Generate(ctx, baseSize())
			before.load(ctx, e)
		}
		mustDo(os.CopyFS(dir, os.DirFS(before.Warehouse)))
		grow(ctx, e, dir, before.Size.Ballots/baseSize().Ballots, millions)
	})
	return data
}

func grow(ctx context.Context, e *Environment, dir string, from, to int) {
	process := e.launch(e.engineAt(dir))
	defer process.stop() //nolint:errcheck // its data is already written
	mustDo(process.until(ctx, func() error { _, err := engine.Find(dir); return err }))
	conn := connectTo(dir)
	defer conn.Close()
	for copied := from; copied < to; copied++ {
		fmt.Fprintf(e.Log, "copying the %d. million\n", copied+1)
		copyMillion(ctx, conn, copied)
	}
}

// copyMillion adds a copy. The first one of the largest proposal gets five times its ballots: 900,000.
func copyMillion(ctx context.Context, conn driver.Conn, number int) {
	for _, statement := range copies {
		mustDo(conn.Exec(ctx, strings.ReplaceAll(statement, "-xN", fmt.Sprintf("-x%d", number))))
	}
	for extra := 1; number == 1 && extra <= 4; extra++ {
		mustDo(conn.Exec(ctx, fmt.Sprintf(enlarge, extra)))
	}
}

// copies are the statements that make one copy. Names of copies end in -x and a number.
var copies = []string{ //nolint:gochecknoglobals // constants
	`INSERT INTO ballots SELECT * REPLACE (` + copiedRef + ` AS proposal_ref, concat(external_id, '-xN') AS external_id)
		FROM (SELECT * FROM ballots FINAL WHERE NOT match(external_id, '-x[0-9]+$'))`,
	`INSERT INTO proposals SELECT * REPLACE (` + copiedRef + ` AS proposal_ref, concat(external_id, '-xN') AS external_id,
			concat(toString(source_id), '-xN') AS source_id, concat(source_url, '-xN') AS source_url, '' AS discussion_url,
			concat(page, '-xN') AS page, if(linked_page = '', '', concat(linked_page, '-xN')) AS linked_page)
		FROM (SELECT * FROM proposals FINAL WHERE NOT match(external_id, '-x[0-9]+$'))`,
	`INSERT INTO sources SELECT * REPLACE (concat(source_id, '-xN') AS source_id)
		FROM (SELECT * FROM sources FINAL WHERE provider != 'discourse' AND NOT match(source_id, '-x[0-9]+$'))`,
	`INSERT INTO syncs SELECT * REPLACE (concat(source_id, '-xN') AS source_id)
		FROM (SELECT * FROM syncs FINAL WHERE provider != 'discourse' AND NOT match(source_id, '-x[0-9]+$'))`,
	`INSERT INTO daos SELECT * REPLACE (concat(dao_id, '-xN') AS dao_id,
			arrayMap(i -> concat(i, '-xN'), arrayFilter((i, p) -> p != 'discourse', source_ids, source_providers)) AS source_ids,
			arrayFilter(p -> p != 'discourse', source_providers) AS source_providers)
		FROM (SELECT * FROM daos FINAL WHERE NOT match(dao_id, '-x[0-9]+$'))`,
}

// copiedRef computes the reference of a copied proposal like record.ProposalRef.Hash.
const copiedRef = `toFixedString(substring(SHA256(concat(toString(provider), '\0', external_id, '-xN')), 1, 16), 16)`

// enlarge adds a ballot of another voter for each ballot of the largest copied proposal.
const enlarge = `INSERT INTO ballots SELECT * REPLACE (
		concat('0x', lower(hex(substring(SHA256(concat(voter, '%[1]d')), 1, 20)))) AS voter, concat(vote_id, '-%[1]d') AS vote_id)
	FROM (SELECT * FROM ballots FINAL WHERE NOT match(vote_id, '-[1-4]$') AND proposal_ref =
		(SELECT proposal_ref FROM ballots WHERE match(external_id, '-x1$') GROUP BY proposal_ref ORDER BY count() DESC LIMIT 1))`
