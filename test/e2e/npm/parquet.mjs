// Prints the ballots of each proposal in files of Parquet, and their power, as DuckDB reads them.
import { DuckDBInstance, listValue } from "@duckdb/node-api";

const connection = await (await DuckDBInstance.create()).connect();
const read = await connection.runAndReadAll(
  "SELECT key, count(*), sum(ballot.votingPower::DECIMAL(38,18)) FROM read_parquet($1) WHERE kind = 'ballot' GROUP BY key",
  [listValue(process.argv.slice(2))],
);
for (const row of read.getRows()) console.log(row.join(" "));
