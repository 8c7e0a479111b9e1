// The steps that were taken in this tab, on whatever page, until it is closed: undo takes back these, not another's.
const KEY = `topicture-steps-${document.body.dataset.collection}`;
const MOST = 5000;

function stored() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY)) ?? [];
  } catch {
    return []; // it is not kept, or somebody wrote something else there
  }
}

let steps = stored();

function keep(some) {
  steps = some;
  try {
    sessionStorage.setItem(KEY, JSON.stringify(steps));
  } catch {
    // They last until the page is left.
  }
}

/** Stands for steps whose numbers this tab has not learned, since it was left; nobody is asked to take back these. */
export const UNKNOWN = 0;

export const ownSteps = {
  add: (step) => keep([...steps, step].slice(-MOST)),
  forget: (step) => keep(steps.filter((each) => each !== step)),
  last: () => steps.at(-1),
};
addEventListener("pageshow", () => { steps = stored(); }); // back from another page of this tab
