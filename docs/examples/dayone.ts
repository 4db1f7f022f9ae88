// Keeps a copy of a DAO in a folder: dayone.ts URL DAO FOLDER [SECONDS [PARQUET]].
// It asks for what has changed every half an hour, or after other SECONDS, and writes each revision
// into the folder PARQUET, too. Powers are decimals in texts.
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Pnyx, type DAOExportRow } from "./pnyx.ts";

const [url = "", dao = "", folder = "", seconds = "1800", parquet = ""] = process.argv.slice(2);
const pnyx = new Pnyx(url, { token: process.env.PNYX_TOKEN });

/** Where rows of a kind are, or what a key has; no name leads out of the folder. */
const at = (...names: string[]) => join(folder, ...names.map((name) => encodeURIComponent(name).replaceAll(".", "%2E")));

/** Replaces a file: it is the old one or the new one when the program is killed. */
function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(join(folder, "unfinished"), text);
  renameSync(join(folder, "unfinished"), path);
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** Replaces what has the key of a row; a proposal with all of its ballots, which follow. */
function apply(row: DAOExportRow): void {
  if (row.kind === "proposal") rmSync(at("ballot", row.key), { recursive: true, force: true });
  const path = row.ballot ? at("ballot", row.key, row.ballot.voterIdentity) : at(row.kind, row.key);
  if (row.removed) rmSync(path, { recursive: true, force: true });
  else write(path, JSON.stringify(row));
}

/** Reads what the copy lacks, and returns its revision. It may apply rows a second time. */
async function refresh(): Promise<string> {
  for await (const part of pnyx.mirror(dao, read(at("revision")))) {
    if (part.anew) for (const old of ["revision", "."]) rmSync(join(folder, old), { recursive: true, force: true });
    for (const row of part.rows) apply(row);
    write(at("revision"), part.revision);
  }
  return read(at("revision"));
}

/** Writes all of the DAO as Parquet, a file a part, into a folder named by the revision. */
async function exportParquet(): Promise<void> {
  const { revision, parts } = (await pnyx.daoExport(dao)).data;
  mkdirSync(join(parquet, revision), { recursive: true });
  for (const [number, { digest }] of parts.entries()) {
    const part = await pnyx.daoExportPart(dao, digest, { format: "parquet" });
    writeFileSync(join(parquet, revision, `${number + 1}.parquet`), new Uint8Array(await part.arrayBuffer()));
  }
}

for (let exported = ""; ; ) {
  try {
    const revision = await refresh();
    console.log(revision);
    if (parquet !== "" && revision !== exported) {
      await exportParquet();
      exported = revision;
    }
  } catch (error) {
    console.error(String(error)); // the next round goes on from there
  }
  await new Promise((resolve) => setTimeout(resolve, 1000 * Number(seconds)));
}
