"""Keeps a copy of a DAO in SQLite: dayone.py URL DAO FILE [SECONDS [PARQUET]].

It asks for what has changed every half an hour, or after other SECONDS, and writes each revision into
the folder PARQUET, too. Powers are decimals in texts.
"""

import json
import os
import sqlite3
import sys
import time
from http.client import HTTPException
from pathlib import Path

from pnyx import DAOExportRow, Pnyx, PnyxError

SCHEMA = """
CREATE TABLE IF NOT EXISTS copy (one INTEGER PRIMARY KEY CHECK (one = 1), revision TEXT);
CREATE TABLE IF NOT EXISTS rows (kind TEXT, key TEXT, voter TEXT, data TEXT, PRIMARY KEY (kind, key, voter)) WITHOUT ROWID;
CREATE VIEW IF NOT EXISTS ballots AS SELECT key AS proposal_key, voter,
    json_extract(data, '$.ballot.choice.label') AS choice, json_extract(data, '$.ballot.votingPower') AS voting_power FROM rows WHERE kind = 'ballot';
"""


def refresh(pnyx: Pnyx, db: sqlite3.Connection, dao: str) -> str:
    """Reads what the copy lacks, a transaction a part, and returns its revision."""
    (revision,) = db.execute("SELECT revision FROM copy").fetchone() or ("",)
    for part in pnyx.mirror(dao, revision):
        with db:
            if part.anew:
                db.execute("DELETE FROM rows")
            for row in part.rows:
                apply(db, row)
            db.execute("INSERT OR REPLACE INTO copy VALUES (1, ?)", (part.revision,))
        revision = part.revision
    return revision


def apply(db: sqlite3.Connection, row: DAOExportRow) -> None:
    """Replaces what has the key of a row; a proposal with all of its ballots, which follow."""
    kind, key, ballot = row["kind"], row["key"], row.get("ballot")
    if kind == "proposal":
        db.execute("DELETE FROM rows WHERE kind = 'ballot' AND key = ?", (key,))
    if row.get("removed"):
        db.execute("DELETE FROM rows WHERE kind = ? AND key = ?", (kind, key))
    else:
        values = (kind, key, ballot["voterIdentity"] if ballot else "", json.dumps(row))
        db.execute("INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?)", values)


def export(pnyx: Pnyx, dao: str, folder: Path) -> str:
    """Writes all of a DAO as Parquet, a file a part, into a folder named by the revision, and returns it."""
    manifest = pnyx.dao_export(dao).data
    folder /= manifest["revision"]
    folder.mkdir(parents=True, exist_ok=True)
    for number, part in enumerate(manifest["parts"], 1):
        (folder / f"{number}.parquet").write_bytes(pnyx.dao_export_part(dao, part["digest"], format="parquet"))
    return manifest["revision"]


def main(url: str, dao: str, file: str, seconds: str = "1800", parquet: str = "") -> None:
    pnyx = Pnyx(url, token=os.environ["PNYX_TOKEN"])
    db = sqlite3.connect(file)
    db.executescript(SCHEMA)
    exported = ""
    while True:
        try:
            revision = refresh(pnyx, db, dao)
            print(revision, flush=True)
            if parquet and revision != exported:
                exported = export(pnyx, dao, Path(parquet))  # of an older one, it is asked for again
        except (PnyxError, OSError, HTTPException, sqlite3.OperationalError) as error:
            print(error, file=sys.stderr)  # the next round goes on from there
        time.sleep(float(seconds))


main(*sys.argv[1:])
