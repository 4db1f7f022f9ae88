"""Calls a node that behaves in one way under each base, and prints what came of it."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from typing import Any
from urllib.request import Request

import pnyx

url = sys.argv[1]


def tell(name: str, call: Callable[[], str]) -> None:
    try:
        result = call()
    except pnyx.PnyxError as e:
        after = "-" if e.retry_after is None else e.retry_after
        details = json.dumps(e.details, separators=(",", ":"))
        result = f"{e.code} {e.status} {e.message} {e.request_id} {details} {after}"
    except (OSError, ValueError):
        result = "no answer"
    print(f"{name}: {result}")


def at(base: str, **options: Any) -> pnyx.Pnyx:
    return pnyx.Pnyx(f"{url}/{base}/", token="secret", **options)


def ids(client: pnyx.Pnyx) -> str:
    return " ".join(dao["daoId"] for dao in client.daos(has_vote_data=False))


def newer() -> str:
    answer = at("newer").data_status(dao_id="a b+c")
    return f"{answer.data['coverageStatus']} {answer.meta['readiness']['status']}"


def parameters() -> str:
    page = at("parameters").proposals(outcome=["passed", "executed"], from_="2026-01-01T00:00:00+02:00", limit=7).page()
    return str(page.meta["page"]["limit"])


def cancelled() -> str:
    stop = threading.Event()

    def send(request: Request, timeout: float) -> pnyx.Response:
        response = pnyx.send(request, timeout)
        stop.set()
        return response

    try:
        return at("bucket", send=send, stop=stop).dao("ens").data["name"]
    except pnyx.PnyxError:
        return "no answer"


def held() -> str:
    def send(request: Request, timeout: float) -> pnyx.Response:
        if "wait=" in request.full_url:
            client.proposals().page()
        return pnyx.send(request, timeout)

    client = at("parameters", send=send, max_wait=3600)
    return str(client.changes(wait=25).page().meta["page"]["limit"])


def mirror(base: str, revision: str | None = None) -> str:
    told: list[str] = []
    try:
        for part in at(base).mirror("ens", revision):
            rows = ", ".join(row_text(row) for row in part.rows)
            told.append(("anew " if part.anew else "") + f"{rows} @{part.revision}".strip())
    except pnyx.PnyxError as e:
        told.append(f"{e.code} {e.message}")
    return ", ".join(told)


def row_text(row: pnyx.DAOExportRow) -> str:
    text = f"{row['kind']} {row['key']}"
    if ballot := row.get("ballot"):
        text += " " + ballot["voterIdentity"]
    return text + (" gone" if row.get("removed") else "")


tell("busy", lambda: ids(at("busy")))
tell("missing", lambda: at("missing").dao("nobody").data["name"])
tell("quota", lambda: ids(at("quota")))
tell("settlement", lambda: ids(at("settlement")))
tell("slow bucket", lambda: ids(at("bucket", max_wait=1)))
tell("proxy", lambda: ids(at("proxy")))
tell("not pnyx", lambda: at("page").dao("ens").data["name"])
tell("no list", lambda: ids(at("page")))
tell("moved", lambda: ids(at("moved")))
tell("hangs", lambda: ids(at("hangs", timeout=0.1)))
tell("cut", lambda: ids(at("cut")))
tell("newer", newer)
tell("parameters", parameters)
tell("escaped", lambda: at("escaped").dao("a/b ?#%ü").data["name"])
tell("no id", lambda: at("escaped").dao("").data["name"])
tell("dots", lambda: at("escaped").dao("..").data["name"])
tell("cancelled", cancelled)
tell("held", held)
tell("mirror", lambda: mirror("mirror"))
tell("delta", lambda: mirror("mirror", "32"))
tell("resumed", lambda: mirror("mirror", "30/d1"))
tell("expired", lambda: mirror("expired", "5"))
tell("torn", lambda: mirror("torn"))
tell("gone", lambda: mirror("gone"))
