// Calls a node that behaves in one way under each base, and prints what came of it.
import { Pnyx, PnyxError, type Options } from "./pnyx.ts";

declare const process: { argv: string[] };

const url = process.argv[2] ?? "";

async function tell(name: string, call: () => Promise<string>): Promise<void> {
  let result: string;
  try {
    result = await call();
  } catch (problem) {
    result = "no answer";
    if (problem instanceof PnyxError) {
      const { code, status, message, requestId, details, retryAfter } = problem;
      result = [code, status, message, requestId, JSON.stringify(details), retryAfter ?? "-"].join(" ");
    }
  }
  console.log(`${name}: ${result}`);
}

function at(base: string, options: Options = {}): Pnyx {
  return new Pnyx(`${url}/${base}/`, { token: "secret", ...options });
}

async function ids(pnyx: Pnyx): Promise<string> {
  const all: string[] = [];
  for await (const dao of pnyx.daos({ hasVoteData: false, limit: undefined })) all.push(dao.daoId);
  return all.join(" ");
}

async function mirror(base: string, revision?: string): Promise<string> {
  const told: string[] = [];
  try {
    for await (const part of at(base).mirror("ens", revision)) {
      const rows = [...part.rows].map(
        (row) => `${row.kind} ${row.key}` + (row.ballot ? ` ${row.ballot.voterIdentity}` : "") + (row.removed ? " gone" : ""),
      );
      told.push((part.anew ? "anew " : "") + `${rows.join(", ")} @${part.revision}`.trim());
    }
  } catch (problem) {
    if (!(problem instanceof PnyxError)) throw problem;
    told.push(`${problem.code} ${problem.message}`);
  }
  return told.join(", ");
}

await tell("busy", () => ids(at("busy")));
await tell("missing", async () => (await at("missing").dao("nobody")).data.name);
await tell("quota", () => ids(at("quota")));
await tell("settlement", () => ids(at("settlement")));
await tell("slow bucket", () => ids(at("bucket", { maxWait: 1000 })));
await tell("proxy", () => ids(at("proxy")));
await tell("not pnyx", async () => (await at("page").dao("ens")).data.name);
await tell("no list", () => ids(at("page")));
await tell("moved", () => ids(at("moved")));
await tell("hangs", () => ids(at("hangs", { timeout: 100 })));
await tell("cut", () => ids(at("cut")));
await tell("newer", async () => {
  const { data, meta } = await at("newer").dataStatus({ daoId: "a b+c" });
  return `${data.coverageStatus} ${meta.readiness.status}`;
});
await tell("parameters", async () => {
  const page = await at("parameters").proposals({ outcome: ["passed", "executed"], from: "2026-01-01T00:00:00+02:00", limit: 7 }).page();
  return String(page.meta.page.limit);
});
await tell("escaped", async () => (await at("escaped").dao("a/b ?#%ü")).data.name);
await tell("no id", async () => (await at("escaped").dao("")).data.name);
await tell("dots", async () => (await at("escaped").dao("..")).data.name);
await tell("cancelled", async () => {
  const cancel = new AbortController();
  const send = async (input: string, init: RequestInit) => {
    const response = await fetch(input, init);
    cancel.abort();
    return response;
  };
  return (await at("bucket", { fetch: send }).dao("ens", { signal: cancel.signal })).data.name;
});
await tell("held", async () => {
  const send = async (input: string, init: RequestInit) => {
    if (input.includes("wait=")) await pnyx.proposals().page();
    return fetch(input, init);
  };
  const pnyx = at("parameters", { fetch: send, maxWait: 3_600_000 });
  return String((await pnyx.changes({ wait: 25 }).page()).meta.page.limit);
});
await tell("mirror", () => mirror("mirror"));
await tell("delta", () => mirror("mirror", "32"));
await tell("resumed", () => mirror("mirror", "30/d1"));
await tell("expired", () => mirror("expired", "5"));
await tell("torn", () => mirror("torn"));
await tell("gone", () => mirror("gone"));
