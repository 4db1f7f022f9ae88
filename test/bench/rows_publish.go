package main

import (
	"context"
	"errors"
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
			Ratio: AtMost(1.2), Rounds: 3, Quick: 1, Prepare: fullPublish,
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

// readOnce returns the statements that read the input of a full publication: the
// ballots that count, the proposals, and the voters of each DAO.
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
	// maxQuietWait bounds the wait until the engine works for nobody, and quietTicks is the
	// processor time of a second in which it does not.
	maxQuietWait = 3 * time.Minute
	quietTicks   = 0.1 * ticksPerSecond
)

// fullPublish measures on the parts of a service that ballots arrive at: a large one, and a small
// one of the last batch.
func fullPublish(ctx context.Context, e *Environment) (Sides, error) {
	if _, _, err := e.API(ctx); err != nil {
		return Sides{}, err
	}
	if err := (fillMeter{e}).mergeParts(ctx, "ballots", "proposal_states"); err != nil {
		return Sides{}, err
	}
	if err := (latencyMeter{e}).touch(ctx); err != nil {
		return Sides{}, err
	}
	return Sides{
		Pnyx: func(ctx context.Context) (float64, error) {
			if err := (publishMeter{e}).awaitQuiet(); err != nil {
				return 0, err
			}
			wait(restOfWorker)
			began := time.Now()
			err := latencyMeter{e}.republish(ctx)
			return time.Since(began).Seconds(), err
		},
		Baseline: func(ctx context.Context) (float64, error) {
			if err := (publishMeter{e}).awaitQuiet(); err != nil {
				return 0, err
			}
			return timeStatements(ctx, e.conn, readOnce()...)
		},
	}, nil
}

// publishMeter measures the worker, and imports.
type publishMeter struct{ *Environment }

// awaitQuiet waits until the engine has done what follows from the last publication: events,
// signals and sorted copies.
func (e publishMeter) awaitQuiet() error {
	var before float64
	for began := time.Now(); time.Since(began) < maxQuietWait; wait(time.Second) {
		ticks, err := treeTicks(e.engine.command.Process.Pid)
		if err != nil {
			return err
		}
		var total float64
		for _, spent := range ticks {
			total += spent
		}
		if total-before < quietTicks {
			return nil
		}
		before = total
	}
	return fmt.Errorf("the engine still works %s after a publication", maxQuietWait)
}

// timeStatements runs statements one after the other and returns their duration in seconds.
func timeStatements(ctx context.Context, conn driver.Conn, statements ...string) (float64, error) {
	began := time.Now()
	for _, statement := range statements {
		if err := conn.Exec(ctx, statement); err != nil {
			return 0, fmt.Errorf("run the baseline statement: %w", err)
		}
	}
	return time.Since(began).Seconds(), nil
}

// firstPublish starts complete instances on the data set, each with an empty Redis.
func firstPublish(ctx context.Context, e *Environment) (Sides, error) {
	url, _, err := e.Warehouse(ctx)
	if err != nil {
		return Sides{}, err
	}
	return Sides{
		Pnyx: func(ctx context.Context) (float64, error) {
			return publishMeter{e}.serveUntilReady(ctx, "CLICKHOUSE_URL="+url)
		},
		Baseline: func(ctx context.Context) (float64, error) {
			address, err := freeAddress()
			if err != nil {
				return 0, err
			}
			server, err := e.launch(redisAt(address))
			if err != nil {
				return 0, err
			}
			took, err := publishMeter{e}.serveUntilReady(ctx, "CLICKHOUSE_URL="+url, "REDIS_URL=redis://"+address)
			return took, errors.Join(err, server.stop())
		},
	}, nil
}

// serveUntilReady starts an instance with some settings, and returns how long it takes to
// be ready, in seconds.
func (e publishMeter) serveUntilReady(ctx context.Context, settings ...string) (float64, error) {
	began := time.Now()
	s, err := e.serveAt(filepath.Join(e.Dir, "unused"), settings)
	if err != nil {
		return 0, err
	}
	err = s.process.until(ctx, func() error { return answersOK(s.admin + "/readyz") })
	return time.Since(began).Seconds(), errors.Join(err, s.process.stop())
}

// importBallots imports the Snapshot ballots into a new database each time, in an
// engine without other data.
func importBallots(ctx context.Context, e *Environment) (Sides, error) {
	// With a fifth of it, the start of the process and the last batches weigh more than the import.
	data, err := e.Generate(ctx, Size{DAOs: 40, Proposals: 1000, Ballots: 500_000, Largest: 90_000})
	if err != nil {
		return Sides{}, err
	}
	instance, err := publishMeter{e}.emptyEngine(ctx, filepath.Join(e.Dir, "import"))
	if err != nil {
		return Sides{}, err
	}
	files := filepath.Join(data.Files, "snapshot", "votes")
	began := time.Now().Unix()
	var round int
	fresh := func() string {
		round++
		return fmt.Sprintf("import_%d_%d", began, round)
	}
	return Sides{
		Pnyx: func(ctx context.Context) (float64, error) {
			return publishMeter{e}.importInto(ctx, instance.URL(fresh()), files)
		},
		Baseline: func(ctx context.Context) (float64, error) {
			return publishMeter{e}.insertInto(ctx, instance.URL(fresh()), files)
		},
	}, nil
}

// emptyEngine starts an engine without data. It stops with the row.
func (e publishMeter) emptyEngine(ctx context.Context, dir string) (engine.Instance, error) {
	err := e.Start(ctx, e.engineAt(dir), func() error { _, err := engine.Find(dir); return err })
	if err != nil {
		return engine.Instance{}, err
	}
	return engine.Find(dir)
}

// importInto imports files and returns the rate in ballots per second.
func (e publishMeter) importInto(ctx context.Context, url, files string) (float64, error) {
	if err := e.createTables(ctx, url, files); err != nil {
		return 0, err
	}
	began := time.Now()
	env := append(e.common(), "CLICKHOUSE_URL="+url)
	if _, err := e.Run(ctx, Program{Args: []string{e.Pnyx, "import", "--tolerate-rejects", files}, Env: env}); err != nil {
		return 0, err
	}
	return ballotRate(ctx, url, time.Since(began))
}

// createTables creates the tables of a database, by an import of other records.
func (e publishMeter) createTables(ctx context.Context, url, files string) error {
	_, err := e.Run(ctx, Program{
		Args: []string{e.Pnyx, "import", "--tolerate-rejects", filepath.Join(filepath.Dir(files), "spaces.ndjson.gz")},
		Env:  append(e.common(), "CLICKHOUSE_URL="+url),
	})
	return err
}

// insertInto makes the engine insert the same files into the same table with one statement.
func (e publishMeter) insertInto(ctx context.Context, url, files string) (float64, error) {
	if err := e.createTables(ctx, url, files); err != nil {
		return 0, err
	}
	conn, err := connect(url)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	began := time.Now()
	if err := conn.Exec(ctx, fmt.Sprintf(insertFiles, filepath.Join(files, "*.gz"))); err != nil {
		return 0, fmt.Errorf("run the baseline statement: %w", err)
	}
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
func ballotRate(ctx context.Context, url string, took time.Duration) (float64, error) {
	conn, err := connect(url)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	var held uint64
	if err := conn.QueryRow(ctx, "SELECT count() FROM ballots FINAL").Scan(&held); err != nil {
		return 0, fmt.Errorf("count what was imported: %w", err)
	}
	return float64(held) / took.Seconds(), nil
}

// connectTo connects to the engine that runs on a folder.
func connectTo(dir string) (driver.Conn, error) {
	instance, err := engine.Find(dir)
	if err != nil {
		return nil, err
	}
	return connect(instance.URL(warehouse.DefaultDatabase))
}

// connect opens a connection to a database of an engine.
func connect(url string) (driver.Conn, error) {
	options, err := clickhouse.ParseDSN(url)
	if err != nil {
		return nil, fmt.Errorf("address of the engine: %w", err)
	}
	options.ReadTimeout = startTimeout
	conn, err := clickhouse.Open(options)
	if err != nil {
		return nil, fmt.Errorf("connect to the engine: %w", err)
	}
	return conn, nil
}
