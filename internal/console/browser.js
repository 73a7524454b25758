"use strict";
// The page of a browser works without this script, one picture for each action. With it the picture is live, and what a
// person does is sent without loading the page again.
(() => {
  const said = () => document.getElementById("browser-said");
  const say = (text) => { said().textContent = text; };
  if (!said()) return;
  let source;
  const listen = () => {
    source = new EventSource(said().dataset.frames);
    source.addEventListener("frame", (event) => {
      const frame = JSON.parse(event.data);
      document.getElementById("screen").src = "data:image/jpeg;base64," + frame.picture;
      document.getElementById("browser-url").textContent = frame.url;
      if (said().dataset.mine === "true" && !frame.person) say("The agent has the browser again. Reload the page.");
    });
    source.addEventListener("gone", () => { source.close(); say("The browser does not answer, or was closed."); });
  };
  listen();
  document.addEventListener("visibilitychange", () => {
    source.close();
    if (!document.hidden) listen();
  });
  const send = async (action, body) => {
    try {
      const answer = await fetch(action, { method: "POST", body, redirect: "manual" });
      say(answer.type === "opaqueredirect" ? "" : "That was not done: you do not have the browser, or it does not answer.");
    } catch {
      say("The console does not answer.");
    }
  };
  let sent = Promise.resolve(); // one after the other: a click is there before the text that is typed after it
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.hasAttribute("data-quiet")) return;
    event.preventDefault();
    const body = new URLSearchParams(new FormData(form, event.submitter));
    const text = form.querySelector("[name='arg.text']");
    if (text) text.value = "";
    sent = sent.then(() => send(form.action, body));
  });
})();
