"use strict";
// show the findings of one verdict: in the list and on the page
const filter = document.querySelector(".filter");
const nothing = document.querySelector(".nothing");

function show(verdict) {
  for (const one of document.querySelectorAll("[data-verdict]")) {
    one.hidden = verdict !== "" && one.dataset.verdict !== verdict;
  }
  for (const group of document.querySelectorAll(".group")) {
    group.hidden = group.querySelector("[data-verdict]:not([hidden])") === null;
  }
  nothing.hidden = document.querySelector("article:not([hidden])") !== null;
}

// a link to a hidden finding shows it
function reveal() {
  const found = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (found && found.closest("[hidden]")) {
    filter.querySelector("input").checked = true;
    show("");
    found.scrollIntoView();
  }
}

filter.hidden = false;
filter.addEventListener("change", (event) => show(event.target.value));
window.addEventListener("hashchange", reveal);
const chosen = filter.querySelector("input:checked");
show(chosen ? chosen.value : "");
reveal();
document.documentElement.dataset.ready = "yes";
