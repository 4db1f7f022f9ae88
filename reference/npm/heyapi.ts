// A client made from the description by another generator: node build/heyapi.js BASE TOKEN reads a page of lists, and prints
// how many rows it got. What it relies on has to stay in the description.
import { createClient } from "./build/heyapi/client/index.js";
import { daosList, eventsList, forumTopicsList, proposalsList, proposalsVotes, signalsList } from "./build/heyapi/sdk.gen.js";
import type { EventType, GovernanceEvent, Signal } from "./build/heyapi/types.gen.js";

declare const process: { argv: string[]; exitCode: number };

const [baseUrl = "", token = ""] = process.argv.slice(2);

// The token goes into its own header alone, and lists of values are repeated.
const checked: typeof fetch = (input, init) => {
  const request = new Request(input, init);
  if (request.headers.has("PAYMENT-SIGNATURE")) throw new Error("a payment is sent that nobody signed");
  return fetch(request);
};
const client = createClient({ baseUrl, auth: token, fetch: checked, throwOnError: true });

// closed does not compile unless the types of events are a closed set, and that of the parameter.
export const closed: (event: GovernanceEvent) => EventType = (event) => event.eventType;

// evidence does not compile unless the evidence of a signal is an object.
export const evidence: (signal: Signal) => string[] = (signal) => Object.keys(signal.evidence);

async function readLists(): Promise<Record<string, number>> {
  const to = new Date();
  const window = { from: new Date(to.getTime() - 89 * 24 * 3600 * 1000).toISOString(), to: to.toISOString() };
  const throwOnError = true;
  const daos = (await daosList({ client, throwOnError, query: { hasVoteData: true } })).data.data;
  const proposals = (await proposalsList({ client, throwOnError, query: { lifecycleStatus: ["closed", "active"], sort: "createdDesc" } })).data.data;
  const proposalKey = proposals[0]?.proposalKey ?? "";
  return {
    daos: daos.length,
    proposals: proposals.length,
    ballots: (await proposalsVotes({ client, throwOnError, path: { proposalKey } })).data.data.length,
    topics: (await forumTopicsList({ client, throwOnError })).data.data.length,
    events: (await eventsList({ client, throwOnError, query: { ...window, eventType: ["proposal_created", "voting_ended"] } })).data.data.length,
    signals: (await signalsList({ client, throwOnError, query: window })).data.data.length,
  };
}

readLists().then(
  (counts) => console.log(JSON.stringify(counts)),
  (problem: unknown) => {
    console.error(problem);
    process.exitCode = 1;
  },
);
