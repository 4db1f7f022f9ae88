// A client made from the description alone: node build/client.js BASE TOKEN reads a page of each list, and prints how
// many rows it got. What it relies on has to stay in the description.
import createClient from "openapi-fetch";
import type { paths } from "./build/agent-v2.js";

declare const process: { argv: string[]; exitCode: number };

const [base = "", token = ""] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl: base, headers: { "x-service-api-token": token } });

// Answer is what both a good and a bad answer of any route may be.
interface Answer<Row> {
  data?: { data: Row[]; meta: { page: { hasMore: boolean; nextCursor: string | null } } };
  error?: { error: { code: string; message: string }; meta: { requestId: string } };
}

function rows<Row>({ data, error }: Answer<Row>): Row[] {
  if (error) throw new Error(`${error.error.code}: ${error.error.message} (${error.meta.requestId})`);
  if (!data) throw new Error("neither data nor error");
  return data.data;
}

function first<Row>(list: Row[]): Row {
  const row = list[0];
  if (row === undefined) throw new Error("an empty list");
  return row;
}

async function everyDAO(): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const answer = await client.GET("/v2/daos", { params: { query: { limit: 5, hasVoteData: true, cursor } } });
    ids.push(...rows(answer).map((dao) => dao.daoId));
    const next = answer.data?.data.length ? answer.data.meta.page.nextCursor : null;
    if (next === null) return ids;
    cursor = next;
  }
}

async function readLists(): Promise<Record<string, number>> {
  const daos = await everyDAO();
  const daoId = first(daos);
  const to = new Date();
  const window = { from: new Date(to.getTime() - 89 * 24 * 3600 * 1000).toISOString(), to: to.toISOString() };
  const proposals = rows(await client.GET("/v2/proposals", { params: { query: { daoId, lifecycleStatus: ["closed"], sort: "createdDesc" } } }));
  const path = { proposalKey: first(proposals).proposalKey };
  const voters = rows(await client.GET("/v2/daos/{daoId}/voters", { params: { path: { daoId } } }));
  const voterIdentity = first(voters).voterIdentity;
  return {
    daos: daos.length,
    proposals: proposals.length,
    voters: voters.length,
    ballots: rows(await client.GET("/v2/proposals/{proposalKey}/votes", { params: { path, query: { order: "time" } } })).length,
    topics: rows(await client.GET("/v2/forum-topics", { params: { query: { minReplies: 1 } } })).length,
    events: rows(await client.GET("/v2/events", { params: { query: window } })).length,
    signals: rows(await client.GET("/v2/signals", { params: { query: window } })).length,
    history: rows(await client.GET("/v2/voters/{voterIdentity}/votes", { params: { path: { voterIdentity } } })).length,
  };
}

export async function mistakes(): Promise<void> {
  // @ts-expect-error there is no such order
  await client.GET("/v2/proposals/{proposalKey}/votes", { params: { path: { proposalKey: "" }, query: { order: "newest" } } });
  // @ts-expect-error there is no such path
  await client.GET("/v2/brief");
}

readLists().then(
  (counts) => console.log(JSON.stringify(counts)),
  (problem: unknown) => {
    console.error(problem);
    process.exitCode = 1;
  },
);
