// Counts the ballots of a proposal by choice: ballots.ts URL TITLE.
import { Pnyx } from "./pnyx.ts";

const [url = "", title = ""] = process.argv.slice(2);
const pnyx = new Pnyx(url, { token: process.env.PNYX_TOKEN });
const found = await pnyx.resolveProposal({ title, limit: 1 });
const [proposal] = found.data.candidates;
if (!proposal) throw new Error("no such proposal");
const counts: Record<string, number> = {};
for await (const { choice } of pnyx.ballots(proposal.proposalKey)) {
  counts[choice.label] = (counts[choice.label] ?? 0) + 1;
}
console.log(JSON.stringify(counts));
