// The reference works without this script. It adds search, copying, a menu that follows,
// and requests from the page. What comes from an answer is shown as text, never as HTML.
import {onToken, request, token} from "/docs/page.js";

const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const routes = all(".route");

// element returns a new element with properties and children.
function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

// Requests.

// targetOf returns the target of the request that the parameters of a route make.
function targetOf(route) {
  let path = route.dataset.path;
  const query = new URLSearchParams();
  for (const input of all("[name]", route.querySelector("form"))) {
    const value = input.value.trim();
    if ("inPath" in input.dataset) {
      path = path.replace(`:${input.name}`, encodeURIComponent(value) || `:${input.name}`);
    } else if (value) {
      query.append(input.name, value);
    }
  }
  return query.size ? `${path}?${query}` : path;
}

// showCurl shows the command that sends what Send sends.
function showCurl(route) {
  const address = new URL(targetOf(route), location.origin).href.replaceAll("'", "%27");
  const header = "token" in route.dataset ? ` \\\n  -H "x-service-api-token: $TOKEN"` : "";
  route.querySelector('[data-language="curl"] code').textContent = `curl '${address}'${header}`;
}

const shownHeaders = ["RateLimit", "RateLimit-Policy", "Retry-After", "ETag", "Age", "Cache-Status", "PAYMENT-REQUIRED", "PAYMENT-RESPONSE", "X-Request-Id"];

async function send(route) {
  const result = route.querySelector(".result");
  const button = route.querySelector(".send button");
  if (!button) return; // a file, which is for programs
  button.disabled = true;
  result.hidden = false;
  result.replaceChildren("Waiting for the answer…");
  const began = performance.now();
  try {
    const response = await request(targetOf(route), {cache: "no-store"});
    const text = await response.text();
    showAnswer(route, result, response, text, performance.now() - began);
  } catch (error) {
    result.replaceChildren(element("p", {}, element("span", {className: "badge bad"}, "No answer"), ` ${error.message}`));
  }
  button.disabled = false;
}

function showAnswer(route, result, response, text, milliseconds) {
  const body = parse(text);
  const status = element("span", {className: `status badge ${response.ok ? "good" : "bad"}`}, String(response.status));
  const size = new TextEncoder().encode(text).length.toLocaleString("en");
  const headers = element("dl", {className: "headers"});
  for (const name of shownHeaders) {
    const value = response.headers.get(name);
    if (value !== null) {
      headers.append(element("dt", {}, name), element("dd", {}, value));
    }
  }
  const children = [element("p", {}, status, ` ${Math.round(milliseconds)} ms, ${size} bytes`)];
  if (body?.error) {
    children.push(...explain(body.error));
  }
  const tree = element("div", {className: "tree", tabIndex: 0}, body === undefined ? text : branch("", body, 0));
  tree.setAttribute("role", "group");
  tree.setAttribute("aria-label", "Answer");
  const actions = element("p", {className: "actions"});
  const cursor = body?.meta?.page?.nextCursor;
  if (cursor) {
    actions.append(element("button", {type: "button", className: "next", onclick: () => {
      route.querySelector('[name="cursor"]').value = cursor;
      showCurl(route);
      send(route);
    }}, "Next page"));
  }
  actions.append(copyButton("Copy answer", () => text));
  result.replaceChildren(...children, headers, tree, actions);
}

// explain says what an error means and what to do, with links to where it is described.
function explain(error) {
  const shown = [element("p", {}, element("a", {href: `#${error.code}`}, error.code), `: ${error.message}`)];
  for (const problem of error.details?.problems ?? []) {
    const fix = [problem.allowed && `Allowed: ${problem.allowed}.`, problem.fix && `Fix: ${problem.fix}.`].filter(Boolean).join(" ");
    shown.push(element("p", {}, element("code", {}, problem.parameter ?? ""), ` ${problem.message}. ${fix}`));
  }
  const described = document.getElementById(error.code);
  if (described) {
    shown.push(element("p", {}, element("a", {href: `#${error.code}`}, "What to do"), `: ${described.querySelector("b").nextSibling.textContent.trim()}`));
  }
  if ((error.code === "PAYMENT_REQUIRED" || error.code === "UNAUTHORIZED") && !token()) {
    shown.push(element("p", {}, element("a", {href: "#token"}, "Enter a partner token"), " in the box at the top of the page."));
  }
  return shown;
}

// Number keeps the digits that a number was written with.
class Digits {
  constructor(text) {
    this.text = text;
  }
}

function parse(text) {
  try {
    return JSON.parse(text, (_, value, context) => typeof value === "number" ? new Digits(context?.source ?? String(value)) : value);
  } catch {
    return undefined;
  }
}

// branch shows a value of an answer. What is nested deep is made when it is opened.
function branch(key, value, depth) {
  const name = key === "" ? [] : [element("span", {className: "key"}, String(key)), ": "];
  if (value === null || typeof value !== "object" || value instanceof Digits) {
    const digits = value instanceof Digits;
    return element("div", {}, ...name, element("span", {className: digits ? "number" : typeof value}, digits ? value.text : JSON.stringify(value)));
  }
  const entries = Object.entries(value);
  const list = Array.isArray(value);
  if (entries.length === 0) {
    return element("div", {}, ...name, list ? "[]" : "{}");
  }
  const count = list ? `[${entries.length}]` : `{${entries.length}}`;
  const node = element("details", {}, element("summary", {}, ...name, count));
  const fill = () => {
    if (node.childElementCount === 1) {
      node.append(...entries.map(([name, child], at) => branch(name, child, depth + 1 + (list && at > 2 ? 9 : 0))));
    }
  };
  node.addEventListener("toggle", fill);
  if (depth < 4) {
    fill();
    node.open = true;
  }
  return node;
}

for (const route of routes) {
  const form = route.querySelector("form");
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(route);
  });
  form.addEventListener("input", () => showCurl(route));
  showCurl(route);
}

onToken(() => all(".result").forEach((result) => {
  result.hidden = true;
}));

// Copying.

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch { // not over plain HTTP from elsewhere
    const area = element("textarea", {value: text, className: "visually-hidden"});
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

function copyButton(label, textOf) {
  const button = element("button", {type: "button"}, label);
  button.addEventListener("click", () => copied(button, textOf));
  return button;
}

async function copied(button, textOf) {
  await copy(await textOf());
  const label = [...button.childNodes];
  button.replaceChildren("Copied");
  setTimeout(() => button.replaceChildren(...label), 1200);
}

for (const button of all("[data-copy]")) {
  button.addEventListener("click", () => copied(button, () => button.parentElement.querySelector("code").textContent));
}
for (const button of all("[data-copy-page]")) {
  button.addEventListener("click", () => copied(button, async () => (await request(button.dataset.copyPage)).text()));
}

// A language that is chosen once is chosen for all routes.
document.addEventListener("change", (event) => {
  if (event.target.matches(".tabs input")) {
    const top = event.target.getBoundingClientRect().top;
    all(`.tabs input[value="${event.target.value}"]`).forEach((input) => {
      input.checked = true;
    });
    scrollBy({top: event.target.getBoundingClientRect().top - top, behavior: "instant"});
  }
});

// The menu follows.

const side = document.querySelector(".side");
const links = new Map(all("nav a", side).map((link) => [link.hash.slice(1), link]));

function follow(id) {
  all("[aria-current]", side).forEach((link) => link.removeAttribute("aria-current"));
  const link = links.get(id);
  link.setAttribute("aria-current", "true");
  const {top, bottom} = link.getBoundingClientRect();
  const box = side.getBoundingClientRect();
  if (side.scrollHeight > side.clientHeight && (top < box.top || bottom > box.bottom)) {
    side.scrollTop += top - box.top - box.height / 2;
  }
}

const observer = new IntersectionObserver((entries) => {
  const seen = entries.filter((entry) => entry.isIntersecting);
  if (seen.length) {
    follow(seen.at(-1).target.id);
  }
}, {rootMargin: "-25% 0px -70% 0px"});
[...routes, ...all("#guide, #webhooks, #errors")].forEach((section) => observer.observe(section));
side.querySelector(".menu").addEventListener("click", (event) => {
  if (event.target.matches("nav a") && matchMedia("(max-width: 800px)").matches) {
    side.querySelector(".menu").open = false;
  }
});

// Search.

const search = document.querySelector("#search");
const found = document.querySelector("#found");
let index;

function buildIndex() {
  const rows = [];
  for (const route of routes) {
    const title = route.querySelector("h3").textContent;
    rows.push({kind: route.dataset.path, text: title, also: `${route.id} ${route.dataset.path}`, target: route});
    for (const param of all(".param", route)) {
      rows.push({kind: `parameter of ${title}`, text: param.querySelector("code").textContent, target: param});
    }
    for (const field of all(".field", route)) {
      rows.push({kind: `field of ${title}`, text: field.querySelector("code").textContent, target: field});
    }
  }
  for (const error of all(".error")) {
    rows.push({kind: "error", text: error.id, also: error.querySelector("p").textContent, target: error});
  }
  return rows;
}

// rank orders what matches: 0 for the whole text, then its beginning, a part, and the rest.
function rank(row, text) {
  const name = row.text.toLowerCase();
  const at = [name === text, name.startsWith(text), name.includes(text), row.also?.toLowerCase().includes(text)].indexOf(true);
  return at < 0 ? Infinity : at;
}

function find() {
  index ??= buildIndex();
  const text = search.value.trim().toLowerCase();
  const hits = index.map((row) => ({row, at: rank(row, text)})).filter(({at}) => text && at < Infinity)
    .sort((a, b) => a.at - b.at).slice(0, 12).map(({row}) => row);
  const list = hits.map((row) => {
    const link = element("a", {href: `#${row.target.closest("[id]").id}`}, row.text, element("small", {}, row.kind));
    link.addEventListener("click", (event) => {
      event.preventDefault();
      visit(row.target);
    });
    return element("li", {}, link);
  });
  found.replaceChildren(...list);
  found.hidden = list.length === 0;
  document.querySelector("#found-count").textContent = text ? `${list.length} found` : "";
}

// visit opens what a target is in, scrolls to it and marks it.
function visit(target) {
  for (let box = target.closest("details"); box; box = box.parentElement.closest("details")) {
    box.open = true;
  }
  search.value = "";
  find();
  history.pushState(null, "", `#${target.closest("[id]").id}`);
  all(".hit").forEach((hit) => hit.classList.remove("hit"));
  target.classList.add("hit");
  target.tabIndex = -1;
  target.focus({preventScroll: true});
  target.scrollIntoView({block: "start"});
}

search.addEventListener("input", find);
search.addEventListener("keydown", (event) => {
  if (event.key === "Enter") {
    found.querySelector("a")?.click();
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !event.target.matches("input, select, textarea") && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    search.focus();
    search.select();
  } else if (event.key === "Escape" && event.target.closest(".search")) {
    search.value = "";
    find();
  } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && event.target.closest(".search")) {
    const stops = [search, ...all("a", found)];
    event.preventDefault();
    stops[(stops.indexOf(event.target) + (event.key === "ArrowDown" ? 1 : stops.length - 1)) % stops.length].focus();
  }
});

document.documentElement.classList.add("scripted");
