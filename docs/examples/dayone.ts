// Keeps a copy of a DAO in SQLite: dayone.ts URL DAO FILE [SECONDS [PARQUET]].
// It asks for what has changed every half an hour, or after other SECONDS, and writes each revision
// into the folder PARQUET, too. Powers are decimals in texts.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite"; // Node 20 has it as the package @photostructure/sqlite
import { Pnyx, type DAOExportRow } from "./pnyx.ts";

const [url = "", dao = "", file = "", seconds = "1800", parquet = ""] = process.argv.slice(2);
const pnyx = new Pnyx(url, { token: process.env.PNYX_TOKEN });
const db = new DatabaseSync(file);
db.exec(`
PRAGMA busy_timeout = 5000; -- others may read it meanwhile
CREATE TABLE IF NOT EXISTS copy (one INTEGER PRIMARY KEY CHECK (one = 1), revision TEXT);
CREATE TABLE IF NOT EXISTS rows (kind TEXT, key TEXT, voter TEXT, data TEXT, PRIMARY KEY (kind, key, voter)) WITHOUT ROWID;
CREATE VIEW IF NOT EXISTS ballots AS SELECT key AS proposal_key, voter,
    json_extract(data, '$.ballot.choice.label') AS choice, json_extract(data, '$.ballot.votingPower') AS voting_power FROM rows WHERE kind = 'ballot';
`);
const dropBallots = db.prepare("DELETE FROM rows WHERE kind = 'ballot' AND key = ?");
const drop = db.prepare("DELETE FROM rows WHERE kind = ? AND key = ?");
const put = db.prepare("INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?)");

/** Replaces what has the key of a row; a proposal with all of its ballots, which follow. */
function apply(row: DAOExportRow): void {
  if (row.kind === "proposal") dropBallots.run(row.key);
  if (row.removed) drop.run(row.kind, row.key);
  else put.run(row.kind, row.key, row.ballot?.voterIdentity ?? "", JSON.stringify(row));
}

/** Reads what the copy lacks, a transaction a part, and returns its revision. */
async function refresh(): Promise<string> {
  let revision = String(db.prepare("SELECT revision FROM copy").get()?.revision ?? "");
  for await (const part of pnyx.mirror(dao, revision)) {
    db.exec("BEGIN");
    try {
      if (part.anew) db.exec("DELETE FROM rows");
      for (const row of part.rows) apply(row);
      db.prepare("INSERT OR REPLACE INTO copy VALUES (1, ?)").run(part.revision);
      db.exec("COMMIT");
    } finally {
      if (db.isTransaction) db.exec("ROLLBACK");
    }
    revision = part.revision;
  }
  return revision;
}

/** Writes all of the DAO as Parquet, a file a part, into a folder named by the revision, and returns it. */
async function exportParquet(): Promise<string> {
  const { revision, parts } = (await pnyx.daoExport(dao)).data;
  mkdirSync(join(parquet, revision), { recursive: true });
  for (const [number, { digest }] of parts.entries()) {
    const part = await pnyx.daoExportPart(dao, digest, { format: "parquet" });
    writeFileSync(join(parquet, revision, `${number + 1}.parquet`), new Uint8Array(await part.arrayBuffer()));
  }
  return revision;
}

for (let exported = ""; ; ) {
  try {
    const revision = await refresh();
    console.log(revision);
    if (parquet !== "" && revision !== exported) {
      exported = await exportParquet(); // of an older one, it is asked for again
    }
  } catch (error) {
    console.error(String(error)); // the next round goes on from there
  }
  await new Promise((resolve) => setTimeout(resolve, 1000 * Number(seconds)));
}
