package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"pnyx/warehouse"
	"pnyx/warehouse/engine"
)

// publishRows measures imports and publications, from files to Redis.
func publishRows() []Row {
	return []Row{
		{
			ID: "publish", Name: "full publish, after a batch of 500 ballots", Baseline: "plain statements that read the same rows once", Unit: "s",
			Ratio: AtMost(1.2), Rounds: 3, Quick: 3, Prepare: fullPublish,
		},
		{
			ID: "first-publish", Name: "`pnyx serve` without REDIS_URL: start to ready, everything published",
			Baseline: "the same on a redis-server of its own", Unit: "s",
			Ratio: AtMost(1.3), Rounds: 3, Quick: 1, Prepare: firstPublish,
		},
		{
			ID: "import", Name: "import of ballots", Baseline: "INSERT … SELECT FROM file: the engine reads the same files",
			Unit: "rows/s", Ratio: AtLeast(0.5), Rounds: 3, Quick: 3, Prepare: importBallots,
		},
	}
}

// readOnce returns the statements that read the input of a full publication.
func readOnce() []string {
	return []string{
		`SELECT proposal_ref, choices, count(), sum(power), max(voted_at), max(observed_at) FROM latest_ballots
			GROUP BY proposal_ref, choices FORMAT Null`,
		`SELECT * FROM proposals FINAL FORMAT Null`,
		`SELECT states.dao_id, uniqExact(ballots.voter), count() FROM ballots INNER JOIN
			(SELECT proposal_ref, dao_id FROM proposal_states FINAL) AS states USING proposal_ref
			GROUP BY states.dao_id FORMAT Null`,
	}
}

const (
	// restOfWorker is longer than the worker rests after a publication.
	restOfWorker = 1500 * time.Millisecond
	// maxQuietWait bounds the wait for an idle engine, quietTime the processor seconds that it takes in a second.
	maxQuietWait = 3 * time.Minute
	quietTime    = 0.1
)

// fullPublish measures on the parts of a service that ballots arrive at: a large and a small one.
func fullPublish(ctx context.Context, e *Environment) Sides {
	e.API(ctx)
	mergeParts(ctx, e, "ballots", "proposal_states")
	touch(ctx, e)
	return Sides{
		Pnyx: func(ctx context.Context) float64 {
			awaitQuiet(e)
			wait(restOfWorker)
			began := time.Now()
			republish(ctx, e)
			return time.Since(began).Seconds()
		},
		Baseline: func(ctx context.Context) float64 {
			awaitQuiet(e)
			return timeStatements(ctx, e.conn, readOnce()...)
		},
	}
}

// awaitQuiet waits until the engine has made events, signals and sorted copies.
func awaitQuiet(e *Environment) {
	var before float64
	for began := time.Now(); time.Since(began) < maxQuietWait; wait(time.Second) {
		var total float64
		for _, spent := range treeTime(e.engine.command.Process.Pid) {
			total += spent
		}
		if total-before < quietTime {
			return
		}
		before = total
	}
	mustDo(fmt.Errorf("the engine still works %s after a publication", maxQuietWait))
}

// timeStatements runs statements one after the other and returns their duration in seconds.
func timeStatements(ctx context.Context, conn driver.Conn, statements ...string) float64 {
	began := time.Now()
	for _, statement := range statements {
		mustDo(conn.Exec(ctx, statement))
	}
	return time.Since(began).Seconds()
}

// firstPublish starts complete instances on the data set, each with an empty Redis.
func firstPublish(ctx context.Context, e *Environment) Sides {
	url, _ := e.Warehouse(ctx)
	return Sides{
		Pnyx: func(ctx context.Context) float64 {
			return serveUntilReady(ctx, e, "CLICKHOUSE_URL="+url)
		},
		Baseline: func(ctx context.Context) float64 {
			address := freeAddress()
			server := e.launch(redisAt(address))
			defer func() { mustDo(server.stop()) }()
			return serveUntilReady(ctx, e, "CLICKHOUSE_URL="+url, "REDIS_URL=redis://"+address)
		},
	}
}

// serveUntilReady starts an instance with some settings, and returns the seconds until it is ready.
func serveUntilReady(ctx context.Context, e *Environment, settings ...string) float64 {
	began := time.Now()
	s := e.serveAt(filepath.Join(e.Dir, "unused"), settings)
	return timeUntil(ctx, began, s.process, func() error { return answersOK(ctx, s.admin+"/readyz") })
}

// importBallots imports the Snapshot ballots into a new database each time, in an empty engine.
func importBallots(ctx context.Context, e *Environment) Sides {
	// With a fifth of it, the start of the process and the last batches weigh more than the import.
	data := e.Generate(ctx, Size{DAOs: 40, Proposals: 1000, Ballots: 500_000, Largest: 90_000})
	instance := emptyEngine(ctx, e, filepath.Join(e.Dir, "import"))
	files := filepath.Join(data.Files, "snapshot", "votes")
	began := time.Now().Unix()
	var round int
	fresh := func() string {
		round++
		return fmt.Sprintf("import_%d_%d", began, round)
	}
	return Sides{
		Pnyx: func(ctx context.Context) float64 {
			return importInto(ctx, e, instance.URL(fresh()), files)
		},
		Baseline: func(ctx context.Context) float64 {
			return insertInto(ctx, e, instance.URL(fresh()), files)
		},
	}
}

func emptyEngine(ctx context.Context, e *Environment, dir string) engine.Instance {
	e.Start(ctx, e.engineAt(dir), func() error { _, err := engine.Find(dir); return err })
	return must(engine.Find(dir))
}

// importInto imports files and returns the rate in ballots per second.
func importInto(ctx context.Context, e *Environment, url, files string) float64 {
	createTables(ctx, e, url, files)
	began := time.Now()
	importPath(ctx, e, url, files)
	return ballotRate(ctx, url, time.Since(began))
}

// createTables creates the tables of a database, by an import of other records.
func createTables(ctx context.Context, e *Environment, url, files string) {
	importPath(ctx, e, url, filepath.Join(filepath.Dir(files), "spaces.ndjson.gz"))
}

func importPath(ctx context.Context, e *Environment, url, path string) {
	must(e.Run(ctx, Program{Args: []string{e.Pnyx, "import", "--tolerate-rejects", path}, Env: append(e.common(), "CLICKHOUSE_URL="+url)}))
}

// insertInto makes the engine insert the same files into the same table with one statement.
func insertInto(ctx context.Context, e *Environment, url, files string) float64 {
	createTables(ctx, e, url, files)
	conn := connect(url)
	defer conn.Close()
	began := time.Now()
	mustDo(conn.Exec(ctx, fmt.Sprintf(insertFiles, filepath.Join(files, "*.gz"))))
	return ballotRate(ctx, url, time.Since(began))
}

// insertFiles fills the ballot columns that a Snapshot file contains unchanged.
//
//nolint:dupword // two columns have one value
const insertFiles = `INSERT INTO ballots (proposal_ref, voter, vote_id, provider, external_id, power, choices, choice_key,
		raw_choice, voted_at, reason, fingerprint, version, discovered_at, observed_at)
	SELECT toFixedString(substring(SHA256(concat('snapshot\0', proposal.id)), 1, 16), 16), lower(voter), id, 'snapshot', proposal.id,
		vp, [choice], choice, choice, fromUnixTimestamp64Milli(created * 1000), ifNull(reason, ''), cityHash64(*), 1, now64(3), now64(3)
	FROM file('%s', 'JSONEachRow', 'id String, proposal Tuple(id String), voter String, created Nullable(Int64), choice String,
		vp Decimal(76, 18), reason Nullable(String)')
	SETTINGS input_format_skip_unknown_fields = 1, input_format_json_read_numbers_as_strings = 1,
		input_format_json_read_arrays_as_strings = 1, input_format_json_read_objects_as_strings = 1`

// ballotRate divides the number of stored ballots by the time taken.
func ballotRate(ctx context.Context, url string, took time.Duration) float64 {
	conn := connect(url)
	defer conn.Close()
	var held uint64
	mustDo(conn.QueryRow(ctx, "SELECT count() FROM ballots FINAL").Scan(&held))
	return float64(held) / took.Seconds()
}

// connectTo connects to the engine that runs on a folder.
func connectTo(dir string) driver.Conn {
	instance := must(engine.Find(dir))
	return connect(instance.URL(warehouse.DefaultDatabase))
}

func connect(url string) driver.Conn {
	options := must(clickhouse.ParseDSN(url))
	options.ReadTimeout = startTimeout
	return must(clickhouse.Open(options))
}
