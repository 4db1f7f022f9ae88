// The page as the visitor's token opens it: the same address is read again with the token,
// and its content replaces what is shown.
import {token, onToken, request} from "/docs/page.js";

// How long the box is left alone before its token is sent, in milliseconds.
const pause = 400;
// When a page is read again whose dossier is being computed. Each time counts as requests of the token.
const again = [3000, 6000, 12000];
let waiting;
let latest = 0;

// say shows a message where the page states problems.
function say(text) {
  const status = document.querySelector("#explore-status");
  if (status) {
    status.hidden = false;
    status.textContent = text;
  }
}

// show reads the page; before is how often it has been read for its dossier.
async function show(before = 0) {
  const turn = ++latest;
  const shown = document.querySelector("#main");
  shown.ariaBusy = "true";
  try {
    const answer = await request(location.pathname + location.search, {cache: "no-store", headers: {accept: "text/html"}});
    const text = await answer.text();
    if (turn !== latest) {
      return;
    }
    const read = new DOMParser().parseFromString(text, "text/html");
    const main = read.querySelector("#main");
    if (!main) {
      throw new Error(`the server answered ${answer.status}`);
    }
    const pending = main.querySelector("[data-pending]") !== null;
    if (pending && before < again.length) {
      waiting = setTimeout(show, again[before], before + 1);
    }
    if (!pending || before === 0) { // what is open stays open
      shown.replaceChildren(...main.childNodes);
      document.title = read.title;
    }
  } catch (problem) {
    if (turn === latest) {
      say(`The page could not be read with the token: ${problem.message}.`);
    }
  } finally {
    if (turn === latest) {
      shown.ariaBusy = null;
    }
  }
}

// A link to data leads to what the reference says of it. With a token it shows the data
// below, as it was sent: a plain link sends no token.
document.addEventListener("click", async (event) => {
  const link = event.target.closest("a[data-read]");
  if (!link || !token()) {
    return;
  }
  event.preventDefault();
  try {
    const answer = await request(link.dataset.read);
    if (!answer.ok) {
      throw new Error(`the server answered ${answer.status}`);
    }
    const shown = Object.assign(document.createElement("pre"), {className: "screen", tabIndex: 0, textContent: await answer.text()});
    document.querySelector(".dossier > pre")?.remove();
    link.closest("p").after(shown);
    shown.focus();
  } catch (problem) {
    say(`The data could not be read with the token: ${problem.message}.`);
  }
});

onToken(() => {
  clearTimeout(waiting);
  waiting = setTimeout(show, pause);
});
if (token()) {
  show();
}
