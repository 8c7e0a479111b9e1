import { h } from "../js/dom.js";

document.querySelector("#main").append(h("h1", {}, "photos"));
