// Prints the ballots of each proposal in the files of Parquet of each folder, and their power, as DuckDB reads them.
import { DuckDBInstance, listValue } from "@duckdb/node-api";

const connection = await (await DuckDBInstance.create()).connect();
const read = await connection.runAndReadAll(
  "SELECT parse_dirpath(filename) AS folder, key, count(*), sum(ballot.votingPower::DECIMAL(38,18)) FROM read_parquet($1, filename = true) WHERE kind = 'ballot' GROUP BY folder, key",
  [listValue(process.argv.slice(2))],
);
for (const row of read.getRows()) console.log(row.join(" "));
