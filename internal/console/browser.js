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
      document.getElementById("browser-url").textContent = frame.url || "no page yet";
      const focus = document.getElementById("browser-focus"), now = "The cursor of the page is in: " + (frame.focus || "nothing");
      if (focus && focus.textContent !== now) focus.textContent = now; // a screen reader reads what has changed
      if (said().dataset.mine === "true" && !frame.person) say("The agent has the browser again. Reload the page.");
    });
    source.addEventListener("gone", () => { source.close(); say("The browser does not answer, or was closed."); });
  };
  listen();
  document.addEventListener("visibilitychange", () => {
    source.close();
    if (!document.hidden) listen();
  });
  const send = async (form, body, done) => {
    const failed = (text) => {
      const field = form.querySelector("[name='arg.text']");
      if (field && !field.value) field.value = body.get("arg.text"); // it was not typed
      say(text);
    };
    try {
      const answer = await fetch(form.action, { method: "POST", body, redirect: "manual" });
      if (answer.type === "opaqueredirect") say(done);
      else failed("That was not done: you do not have the browser, or it does not answer.");
    } catch {
      failed("That was not done: the console does not answer.");
    }
  };
  // An Enter or a screen reader "clicks" a picture at its corner, which no person means.
  document.addEventListener("click", (event) => {
    if (event.target.id !== "screen" || event.detail > 0) return;
    event.preventDefault();
    say("The picture is for a mouse. Use the keys below it: Tab goes to the next field, Enter presses.");
  });
  let sent = Promise.resolve(); // one after the other: a click is there before the text that is typed after it
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.hasAttribute("data-quiet")) return;
    event.preventDefault();
    const body = new URLSearchParams(new FormData(form, event.submitter));
    const done = event.submitter?.dataset.done || form.dataset.done;
    const text = form.querySelector("[name='arg.text']");
    if (text) {
      text.value = "";
      text.focus(); // for the next field of the page
    }
    say(""); // so that the same words are read again
    sent = sent.then(() => send(form, body, done));
  });
})();
