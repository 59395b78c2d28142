/** How far the rater is: the server's count, and the votes that it has taken since it last said so. */
export function createProgress(numbers, show) {
  show(numbers);
  return {
    numbers,
    counted() {
      numbers.done += 1;
      show(numbers);
    },
    /** `ask`, listening to the progress that comes with its answer; not while a vote is counted (`isCounting()`). */
    following:
      (ask, isCounting) =>
      async (...about) => {
        const { done } = numbers;
        const outcome = await ask(...about);
        if (outcome.kind === "ok" && numbers.done === done && !isCounting()) {
          Object.assign(numbers, outcome.body.progress);
          show(numbers);
        }
        return outcome;
      },
  };
}
